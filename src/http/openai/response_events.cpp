#include "http/openai/response_events.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "http/openai/answer_parts.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

constexpr std::string_view kTextDelta = "response.output_text.delta";

/// Members that say where a text event belongs; a response has one item with one part.
void write_place(JsonWriter& json, const OutputMessage& message) {
  json.string("item_id", message.id).integer("output_index", 0).integer("content_index", 0);
}

/// The event that ends a response.
std::string_view terminal_type(ResponseStatus status) {
  if (status == ResponseStatus::kCompleted) return "response.completed";
  if (status == ResponseStatus::kFailed) return "response.failed";
  return "response.incomplete";
}

}  // namespace

ResponseEvents::ResponseEvents(ResponseObject response, Options options)
    : response_(std::move(response)), options_(std::move(options)) {
  DCHECK(!is_final(response_.status));
}

void ResponseEvents::created(EventSink sink) {
  JsonWriter json = begin_event("response.created");
  if (!options_.ignored.empty()) {
    json.key("ignored").begin_array();
    for (const std::string& name : options_.ignored) json.string(name);
    json.end_array();
  }
  json.key("response");
  write_response(json, response_);
  json.end_object();
  sink("response.created", buffer_);
}

void ResponseEvents::queued(int position, std::optional<double> estimated_start_ms,
                            EventSink sink) {
  JsonWriter json = begin_event("response.queued");
  json.integer("position", position).key("estimated_start_ms");
  if (estimated_start_ms) {
    json.number(*estimated_start_ms);
  } else {
    json.null();
  }
  json.key("response");
  write_response(json, response_);
  json.end_object();
  sink("response.queued", buffer_);
}

void ResponseEvents::write(const GenerationEvent& event, std::int64_t unix_now, EventSink sink) {
  DCHECK(!is_finished());
  std::visit([&](const auto& e) { on(e, unix_now, sink); }, event);
}

void ResponseEvents::fail(const Error& error, std::int64_t unix_now, EventSink sink) {
  on(RequestFailed{.error = error, .usage = {}, .receipt = {}}, unix_now, sink);
}

void ResponseEvents::on(const RequestStarted& /*event*/, std::int64_t /*unix_now*/,
                        EventSink sink) {
  response_.status = ResponseStatus::kInProgress;
  send_response("response.in_progress", sink);
}

void ResponseEvents::on(const PromptLogprobs& /*event*/, std::int64_t /*unix_now*/,
                        EventSink /*sink*/) {}

void ResponseEvents::on(const ChoiceDelta& event, std::int64_t /*unix_now*/, EventSink sink) {
  if (response_.return_token_ids) {
    auto& ids = response_.output_token_ids;
    ids.insert(ids.end(), event.token_ids.begin(), event.token_ids.end());
  }
  if (options_.logprobs) {
    pending_logprobs_.insert(pending_logprobs_.end(), event.logprobs.begin(), event.logprobs.end());
  }
  if (event.text.empty()) return;
  open_message(sink);
  OutputMessage& message = *response_.message;
  message.text += event.text;
  buffer_ = delta_head_;
  append_json_string(buffer_, event.text);
  buffer_ += ",\"logprobs\":";
  JsonWriter json(buffer_);
  write_logprob_items(json, pending_logprobs_);
  json.integer("sequence_number", sequence_number_++).end_object();
  message.logprobs.insert(message.logprobs.end(), pending_logprobs_.begin(),
                          pending_logprobs_.end());
  pending_logprobs_.clear();
  sink(kTextDelta, buffer_);
}

void ResponseEvents::on(const ChoiceFinished& event, std::int64_t /*unix_now*/,
                        EventSink /*sink*/) {
  finish_reason_ = event.reason;
}

void ResponseEvents::on(const RequestFinished& event, std::int64_t unix_now, EventSink sink) {
  response_.usage = event.usage;
  if (options_.include_receipt) response_.receipt = event.receipt;
  const bool is_cut = options_.has_output && finish_reason_ == FinishReason::kLength;
  if (options_.has_output) {
    open_message(sink);
    close_message(is_cut ? "incomplete" : "completed", sink);
  }
  end(is_cut ? ResponseStatus::kIncomplete : ResponseStatus::kCompleted, unix_now, sink);
}

void ResponseEvents::on(const RequestFailed& event, std::int64_t unix_now, EventSink sink) {
  response_.usage = event.usage;
  if (options_.include_receipt) response_.receipt = event.receipt;
  if (event.error.code == ErrorCode::kRequestCancelled) {
    if (response_.message) close_message("incomplete", sink);
    return end(ResponseStatus::kCancelled, unix_now, sink);
  }
  if (response_.message) response_.message->status = "incomplete";
  response_.error = event.error;
  end(ResponseStatus::kFailed, unix_now, sink);
}

void ResponseEvents::open_message(EventSink sink) {
  if (response_.message) return;
  OutputMessage& message = response_.message.emplace(
      OutputMessage{.id = options_.message_id, .text = "", .logprobs = {}});
  send_item("response.output_item.added", sink);
  message.has_part = true;
  send_part("response.content_part.added", sink);

  delta_head_ = R"({"type":"response.output_text.delta")";
  if (options_.stream_id) {
    delta_head_ += ",\"stream_id\":";
    append_json_string(delta_head_, *options_.stream_id);
  }
  delta_head_ += ',';
  JsonWriter json(delta_head_);
  write_place(json, message);
  json.key("delta");
}

void ResponseEvents::close_message(std::string_view status, EventSink sink) {
  OutputMessage& message = *response_.message;
  message.logprobs.insert(message.logprobs.end(), pending_logprobs_.begin(),
                          pending_logprobs_.end());
  pending_logprobs_.clear();
  JsonWriter json = begin_event("response.output_text.done");
  write_place(json, message);
  json.string("text", message.text).key("logprobs");
  write_logprob_items(json, message.logprobs);
  json.end_object();
  sink("response.output_text.done", buffer_);
  send_part("response.content_part.done", sink);
  message.status = status;
  send_item("response.output_item.done", sink);
}

void ResponseEvents::end(ResponseStatus status, std::int64_t unix_now, EventSink sink) {
  response_.status = status;
  response_.completed_at = unix_now;
  send_response(terminal_type(status), sink);
}

JsonWriter ResponseEvents::begin_event(std::string_view type) {
  buffer_.clear();
  JsonWriter json(buffer_);
  json.begin_object().string("type", type);
  if (options_.stream_id) json.string("stream_id", *options_.stream_id);
  json.integer("sequence_number", sequence_number_++);
  return json;
}

void ResponseEvents::send_item(std::string_view type, EventSink sink) {
  JsonWriter json = begin_event(type);
  json.integer("output_index", 0).key("item");
  write_output_message(json, *response_.message);
  json.end_object();
  sink(type, buffer_);
}

void ResponseEvents::send_part(std::string_view type, EventSink sink) {
  JsonWriter json = begin_event(type);
  write_place(json, *response_.message);
  json.key("part");
  write_output_part(json, *response_.message);
  json.end_object();
  sink(type, buffer_);
}

void ResponseEvents::send_response(std::string_view type, EventSink sink) {
  JsonWriter json = begin_event(type);
  json.key("response");
  write_response(json, response_);
  json.end_object();
  sink(type, buffer_);
}

}  // namespace paceline::openai
