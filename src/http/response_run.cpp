#include "http/response_run.h"

#include <algorithm>
#include <utility>

#include "http/connection.h"
#include "http/generation_service.h"
#include "http/generation_stream.h"
#include "http/handlers/request_parsing.h"
#include "http/random_ids.h"
#include "http/server_context.h"
#include "http/unix_time.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// A response that has not started by then tells the client that it waits; until then a refusal is a
// plain error.
constexpr std::chrono::milliseconds kFirstPass{100};
// Between two response.queued events.
constexpr std::chrono::seconds kQueuedInterval{1};
// Frames that are there are handed over together, up to about this size.
constexpr std::size_t kMaxFrameBytes = 65536;
// For the engine to confirm a cancellation.
constexpr std::chrono::seconds kCancelTime{5};

GenerationJob make_job(const ResponsePlan& plan, const Conversation& items) {
  const openai::ResponseRequest& request = plan.request;
  const std::string* instructions = request.instructions ? &*request.instructions : nullptr;
  ConversationPrompt prompt;
  prompt.messages = openai::to_messages(instructions, items);
  prompt.options.tools = openai::template_texts(request.tools.tools);
  GenerationJob job;
  job.tenant = plan.tenant;
  job.api = Api::kResponses;
  job.transport = plan.transport;
  job.prompt = std::move(prompt);
  job.prompt_param = "input";
  job.sampling = request.fields.sampling;
  job.max_tokens = plan.generate ? request.fields.max_tokens : 0;
  job.priority = plan.priority;
  job.cache_salt = request.fields.cache_salt;
  job.accepted_at = plan.accepted_at;
  job.timeout = request.fields.timeout ? request.fields.timeout : plan.timeout;
  return job;
}

openai::ResponseObject make_response(const ResponsePlan& plan, const PreparedGeneration& prepared) {
  openai::ResponseObject response;
  response.id = random_object_id(openai::IdKind::kResponse);
  response.created_at = unix_now();
  response.model = prepared.model->id;
  response.echo = openai::echo_members(plan.request);
  response.return_token_ids = plan.request.fields.return_token_ids;
  if (response.return_token_ids) response.prompt_token_ids = prepared.request.prompts.front();
  return response;
}

openai::ResponseEvents::Options make_options(const ResponsePlan& plan) {
  openai::ResponseEvents::Options options;
  options.message_id = random_object_id(openai::IdKind::kMessage);
  options.stream_id = plan.stream_id;
  if (plan.transport == Transport::kWs) options.ignored = plan.request.fields.ignored.names;
  options.logprobs = plan.request.include_logprobs;
  options.include_receipt = plan.request.fields.include_receipt;
  options.has_output = plan.generate;
  return options;
}

}  // namespace

ResponseRun::ResponseRun(ServerContext& context, Parts parts, RequestLog& log)
    : context_(context),
      stream_(std::move(parts.stream)),
      events_(std::move(parts.response), std::move(parts.options)),
      items_(std::move(parts.conversation)),
      is_kept_(parts.is_kept),
      tenant_(parts.tenant),
      log_(log),
      tick_at_(context.clock.now() + kFirstPass) {}

ResponseRun::~ResponseRun() = default;

auto ResponseRun::frame_sink() {
  return [this](std::string_view type, std::string_view json) {
    frame_bytes_ += json.size();
    frames_.push_back({type, std::string(json)});
  };
}

void ResponseRun::announce() {
  if (stored_) return;
  events_.created(frame_sink());
  // The engine outlives the entry's callback through the shared model.
  auto cancel = [engine = stream_->model().engine, id = stream_->id()] {
    engine->cancel(id, CancelCause::kApi);
  };
  stored_ = context_.responses.add(tenant_, response().id, is_kept_,
                                   openai::response_json(response()), std::move(cancel));
}

asio::awaitable<std::vector<ResponseFrame>> ResponseRun::next(TimePoint deadline) {
  while (frame_bytes_ < kMaxFrameBytes && !is_finished()) {
    const auto event = stream_->try_next();
    if (!event) break;
    on_event(*event);
  }
  if (frames_.empty() && !is_finished()) {
    const TimePoint until = has_started_ ? deadline : std::min(deadline, tick_at_);
    const auto event = co_await stream_->next(until);
    if (event) {
      on_event(*event);
    } else if (!has_started_ && context_.clock.now() >= tick_at_) {
      on_tick();
    }
  }
  frame_bytes_ = 0;
  co_return std::exchange(frames_, {});
}

void ResponseRun::interrupt() { stream_->interrupt(); }

void ResponseRun::cancel(CancelCause cause) {
  if (is_finished()) return;
  log_.cancel_cause = std::string(label_value(cause));
  stream_->cancel(cause);
}

asio::awaitable<void> ResponseRun::abandon(CancelCause cause) {
  cancel(cause);
  const TimePoint deadline = context_.clock.now() + kCancelTime;
  while (!is_finished() && context_.clock.now() < deadline) {
    const auto frames = co_await next(deadline);
    static_cast<void>(frames);  // nobody is left to read them
  }
}

bool ResponseRun::is_finished() const { return refusal_.has_value() || events_.is_finished(); }

void ResponseRun::on_event(const GenerationEvent& event) {
  note_generation_event(log_, event, context_.clock.now());
  const auto* failed = std::get_if<RequestFailed>(&event);
  if (failed != nullptr && !stored_) {
    refusal_ = failed->error;
    return;
  }
  announce();
  events_.write(event, unix_now(), frame_sink());
  if (std::holds_alternative<RequestStarted>(event)) {
    has_started_ = true;
    stored_->update(openai::response_json(response()));
  }
  if (events_.is_finished()) finish();
}

void ResponseRun::on_tick() {
  tick_at_ = context_.clock.now() + kQueuedInterval;
  announce();
  if (const auto place = stream_->queue_position()) {
    events_.queued(place->position, place->estimated_start_ms, frame_sink());
  }
}

void ResponseRun::finish() {
  if (response().status != openai::ResponseStatus::kFailed) {
    if (const auto& message = response().message) {
      items_.emplace_back(openai::MessageItem{Role::kAssistant, message->text});
    }
    conversation_ = std::make_shared<const Conversation>(std::move(items_));
  }
  stored_->finish(openai::response_json(response()), conversation_);
}

asio::awaitable<Result<std::unique_ptr<ResponseRun>>> start_response(
    ServerContext& context, std::shared_ptr<const ServedModel> model, Connection& connection,
    ResponsePlan plan, RequestLog& log) {
  if (!model->is_called(plan.request.fields.model)) {
    co_return tl::unexpected(model_not_found(plan.request.fields.model));
  }
  log.model = model->id;
  Conversation items;
  if (plan.earlier) items = *plan.earlier;
  if (auto checked = openai::check_function_results(items, plan.request.input); !checked) {
    co_return tl::unexpected(checked.error());
  }
  std::move(plan.request.input.begin(), plan.request.input.end(), std::back_inserter(items));

  GenerationJob job = make_job(plan, items);
  auto prepared = co_await prepare_generation(context, std::move(model), std::move(job));
  if (!prepared) co_return tl::unexpected(prepared.error());
  log.tokenize_ms = prepared->tokenize_ms;
  log.max_tokens = prepared->request.max_tokens;
  ResponseRun::Parts parts;
  parts.response = make_response(plan, *prepared);
  parts.options = make_options(plan);
  parts.conversation = std::move(items);
  parts.is_kept = plan.request.store;
  parts.tenant = plan.tenant;
  log.object_id = parts.response.id;
  auto stream = start_generation(context, std::move(*prepared), connection);
  if (!stream) co_return tl::unexpected(stream.error());
  parts.stream = std::move(*stream);
  co_return std::make_unique<ResponseRun>(context, std::move(parts), log);
}

}  // namespace paceline
