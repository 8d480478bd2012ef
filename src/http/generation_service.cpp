#include "http/generation_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/check.h"
#include "http/connection.h"
#include "http/generation_stream.h"
#include "http/http_options.h"
#include "http/server_context.h"
#include "http/worker_queue.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

using TokenLists = std::vector<std::vector<TokenId>>;

std::vector<TokenId> encode_text(const Tokenizer& tokenizer, const std::string& text,
                                 std::size_t max_tokens) {
  if (!text.empty()) return tokenizer.encode(text, SpecialText::kParse, max_tokens);
  const auto end_of_text = tokenizer.find_special("<|endoftext|>");
  return {end_of_text.value_or(tokenizer.end_ids().front())};
}

Result<TokenLists> tokenize(const ServedModel& model, PromptSource& prompt) {
  const auto max_tokens = static_cast<std::size_t>(model.max_context);
  TokenLists lists;
  if (const auto* conversation = std::get_if<ConversationPrompt>(&prompt)) {
    auto segments = model.chat_template->render(conversation->messages, conversation->options);
    if (!segments) return tl::unexpected(segments.error());
    lists.push_back(model.tokenizer->encode_segments(*segments, max_tokens));
    return lists;
  }
  for (RawPrompt& raw : std::get<std::vector<RawPrompt>>(prompt)) {
    if (const auto* text = std::get_if<std::string>(&raw)) {
      lists.push_back(encode_text(*model.tokenizer, *text, max_tokens));
    } else {
      lists.push_back(std::move(std::get<std::vector<TokenId>>(raw)));
    }
  }
  return lists;
}

/// Refuses a prompt that leaves no room for what is asked.
Result<void> check_length(const ServedModel& model, const GenerationJob& job,
                          std::size_t num_tokens) {
  // A text is tokenised no further than one token past the context.
  const bool is_cut = num_tokens == static_cast<std::size_t>(model.max_context) + 1;
  const std::string amount =
      is_cut ? "more than " + std::to_string(model.max_context) : std::to_string(num_tokens);
  const std::size_t needed = num_tokens + (job.max_tokens == 0 ? 0 : 1);
  if (needed > static_cast<std::size_t>(model.max_context)) {
    return fail(ErrorCode::kContextLengthExceeded,
                "the context of this model is " + std::to_string(model.max_context) +
                    " tokens, prompt and output together; the prompt has " + amount,
                job.prompt_param);
  }
  if (needed > static_cast<std::size_t>(model.max_kv_tokens)) {
    return fail(ErrorCode::kKvCapacityExceeded,
                "the KV cache of this server holds " + std::to_string(model.max_kv_tokens) +
                    " tokens; the prompt has " + amount,
                job.prompt_param);
  }
  return {};
}

/// Tokens a sequence may have, prompt and output together.
int max_sequence_tokens(const ServedModel& model) {
  return std::min(model.max_context, model.max_kv_tokens);
}

/// Tokens a choice may have: what was asked for, within the room the shortest prompt leaves. The
/// engine makes it smaller for longer ones.
int effective_max_tokens(const ServedModel& model, const GenerationJob& job,
                         const TokenLists& prompts) {
  const auto shortest =
      std::min_element(prompts.begin(), prompts.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const int room = max_sequence_tokens(model) - static_cast<int>(shortest->size());
  return std::min(job.max_tokens.value_or(room), room);
}

GenerationRequest make_request(const ServerContext& context, const ServedModel& model,
                               GenerationJob job, TokenLists prompts) {
  GenerationRequest request;
  request.id = model.engine->next_request_id();
  request.tenant = job.tenant;
  request.api = job.api;
  request.transport = job.transport;
  request.max_tokens = effective_max_tokens(model, job, prompts);
  request.max_sequence_tokens = max_sequence_tokens(model);
  request.prompts = std::move(prompts);
  request.sampling = std::move(job.sampling);
  request.sampling.min_tokens = std::min(request.sampling.min_tokens, request.max_tokens);
  request.priority = job.priority;
  request.prompt_logprobs = job.prompt_logprobs;
  request.cache_salt = std::move(job.cache_salt);
  request.accepted_at = job.accepted_at;
  if (job.timeout) request.deadline = job.accepted_at + *job.timeout;
  request.queue_deadline = job.accepted_at + context.options.queue_timeout;
  return request;
}

}  // namespace

int PreparedGeneration::num_prompt_tokens() const {
  std::size_t count = 0;
  for (const auto& prompt : request.prompts) count += prompt.size();
  return static_cast<int>(count);
}

asio::awaitable<Result<PreparedGeneration>> prepare_generation(
    ServerContext& context, std::shared_ptr<const ServedModel> model, GenerationJob job) {
  struct Tokenized {
    TokenLists prompts;
    double milliseconds = 0;
  };
  auto work = [model, prompt = std::move(job.prompt),
               &clock = context.clock]() mutable -> Result<Tokenized> {
    const TimePoint begin = clock.now();
    auto prompts = tokenize(*model, prompt);
    if (!prompts) return tl::unexpected(prompts.error());
    return Tokenized{std::move(*prompts), to_ms(clock.now() - begin)};
  };
  auto tokenized = co_await context.workers.run(job.tenant, std::move(work));
  if (!tokenized) co_return tl::unexpected(tokenized.error());
  context.metrics.tokenize_seconds.observe(tokenized->milliseconds / 1000);
  for (const auto& prompt : tokenized->prompts) {
    if (auto fits = check_length(*model, job, prompt.size()); !fits) {
      co_return tl::unexpected(fits.error());
    }
  }
  PreparedGeneration prepared;
  prepared.tokenize_ms = tokenized->milliseconds;
  prepared.request = make_request(context, *model, std::move(job), std::move(tokenized->prompts));
  prepared.model = std::move(model);
  co_return prepared;
}

Result<std::unique_ptr<GenerationStream>> start_generation(ServerContext& context,
                                                           PreparedGeneration prepared,
                                                           Connection& connection) {
  const asio::any_io_executor executor = connection.executor();
  auto event = std::make_shared<AsyncEvent>(executor);
  auto wake = [executor, event] { asio::post(executor, [event] { event->notify(); }); };
  const RequestId id = prepared.request.id;
  auto output = prepared.model->engine->submit(std::move(prepared.request),
                                               connection.output()->budget(), std::move(wake));
  if (!output) return tl::unexpected(output.error());
  return std::make_unique<GenerationStream>(context.service, std::move(prepared.model), id,
                                            connection.output(), std::move(event),
                                            std::move(*output));
}

}  // namespace paceline
