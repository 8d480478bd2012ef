#include "http/openai/chat_writer.h"

#include <iterator>
#include <utility>
#include <variant>

#include "base/check.h"
#include "http/openai/answer_parts.h"
#include "http/openai/error_body.h"

namespace paceline::openai {
namespace {

/// Members of an answer before `choices`, the object left open.
void write_identity(JsonWriter& json, const AnswerIdentity& identity, std::string_view object) {
  json.begin_object()
      .string("id", identity.id)
      .string("object", object)
      .integer("created", identity.created)
      .string("model", identity.model)
      .string("service_tier", identity.service_tier)
      .string("system_fingerprint", identity.system_fingerprint);
}

void write_receipt_member(JsonWriter& json, const Receipt& receipt) {
  json.key("paceline").begin_object().key("receipt");
  write_receipt(json, receipt);
  json.end_object();
}

/// `logprobs` of a choice: null without any item unless `always`.
void write_choice_logprobs(JsonWriter& json, std::span<const TokenLogprobText> items, bool always) {
  if (items.empty() && !always) {
    json.null("logprobs");
    return;
  }
  json.key("logprobs").begin_object().key("content");
  write_logprob_items(json, items);
  json.null("refusal").end_object();
}

void write_choice(JsonWriter& json, const AnswerOptions& options, std::int64_t index,
                  const ChoiceResult& choice) {
  json.begin_object().integer("index", index);
  json.key("message")
      .begin_object()
      .string("role", "assistant")
      .string("content", choice.text)
      .null("refusal")
      .end_object();
  write_choice_logprobs(json, choice.logprobs, options.logprobs);
  json.string("finish_reason", to_string(choice.finish_reason));
  if (options.return_token_ids) {
    json.key("token_ids");
    write_token_ids(json, choice.token_ids);
  }
  json.end_object();
}

}  // namespace

std::string write_chat_completion(const AnswerIdentity& identity, const AnswerOptions& options,
                                  const GenerationResult& result,
                                  std::span<const TokenId> prompt_ids) {
  std::string out;
  JsonWriter json(out);
  write_identity(json, identity, "chat.completion");
  json.key("choices").begin_array();
  std::int64_t index = 0;
  for (const ChoiceResult& choice : result.choices) write_choice(json, options, index++, choice);
  json.end_array().key("usage");
  write_usage(json, result.usage, UsageShape::kChat);
  if (options.return_token_ids) {
    json.key("prompt_token_ids");
    write_token_ids(json, prompt_ids);
  }
  if (options.include_receipt) write_receipt_member(json, result.receipt);
  json.end_object();
  return out;
}

ChatStreamWriter::ChatStreamWriter(const AnswerIdentity& identity, const AnswerOptions& options,
                                   int num_choices, std::vector<TokenId> prompt_ids)
    : options_(options),
      prompt_ids_(std::move(prompt_ids)),
      choices_(static_cast<std::size_t>(num_choices)) {
  DCHECK(num_choices >= 1);
  JsonWriter json(head_);
  write_identity(json, identity, "chat.completion.chunk");
  json.key("choices").begin_array();
}

void ChatStreamWriter::write(const GenerationEvent& event, JsonSink sink) {
  std::visit([&](const auto& e) { on(e, sink); }, event);
}

void ChatStreamWriter::on(const RequestStarted& event, JsonSink /*sink*/) { usage_ = event.usage; }

void ChatStreamWriter::on(const PromptLogprobs& /*event*/, JsonSink /*sink*/) {}

void ChatStreamWriter::on(const ChoiceDelta& event, JsonSink sink) {
  Choice& choice = choices_.at(static_cast<std::size_t>(event.index));
  usage_.completion_tokens = event.completion_tokens;
  if (options_.return_token_ids) {
    choice.token_ids.insert(choice.token_ids.end(), event.token_ids.begin(), event.token_ids.end());
  }
  choice.logprobs.insert(choice.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
  if (event.text.empty()) return;
  write_role(event.index, sink);
  delta_ = R"({"content":)";
  append_json_string(delta_, event.text);
  delta_ += '}';
  write_delta(event.index, delta_, nullptr, sink);
}

void ChatStreamWriter::on(const ChoiceFinished& event, JsonSink sink) {
  write_role(event.index, sink);
  write_delta(event.index, "{}", &event.reason, sink);
}

void ChatStreamWriter::on(const RequestFinished& event, JsonSink sink) {
  if (!options_.include_usage) return;
  buffer_ = head_;
  buffer_ += "],\"usage\":";
  JsonWriter json(buffer_);
  write_usage(json, event.usage, UsageShape::kChat);
  if (options_.include_receipt) write_receipt_member(json, event.receipt);
  json.end_object();
  sink(buffer_);
}

void ChatStreamWriter::on(const RequestFailed& event, JsonSink sink) {
  sink(error_body(event.error));
}

void ChatStreamWriter::write_role(int index, JsonSink sink) {
  Choice& choice = choices_.at(static_cast<std::size_t>(index));
  if (std::exchange(choice.has_role, true)) return;
  buffer_ = head_;
  buffer_ += "{\"index\":";
  buffer_ += std::to_string(index);
  buffer_ += R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})";
  finish_chunk(sink);
}

void ChatStreamWriter::write_delta(int index, std::string_view delta, const FinishReason* reason,
                                   JsonSink sink) {
  Choice& choice = choices_.at(static_cast<std::size_t>(index));
  buffer_ = head_;
  JsonWriter json(buffer_);
  json.begin_object().integer("index", index).raw("delta", delta);
  write_choice_logprobs(json, choice.logprobs, false);
  choice.logprobs.clear();
  json.key("finish_reason");
  if (reason == nullptr) {
    json.null();
  } else {
    json.string(to_string(*reason));
  }
  if (options_.return_token_ids) {
    json.key("token_ids");
    write_token_ids(json, choice.token_ids);
    choice.token_ids.clear();
  }
  json.end_object();
  finish_chunk(sink);
}

void ChatStreamWriter::finish_chunk(JsonSink sink) {
  buffer_ += ']';
  if (options_.include_usage) {
    buffer_ += ",\"usage\":";
    JsonWriter json(buffer_);
    if (options_.continuous_usage_stats) {
      write_usage(json, usage_, UsageShape::kChat);
    } else {
      json.null();
    }
  }
  if (std::exchange(is_first_chunk_, false) && options_.return_token_ids) {
    buffer_ += ",\"prompt_token_ids\":";
    JsonWriter json(buffer_);
    write_token_ids(json, prompt_ids_);
  }
  buffer_ += '}';
  sink(buffer_);
}

}  // namespace paceline::openai
