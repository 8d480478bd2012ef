#include "http/handlers/generation_call.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/generation_stream.h"
#include "http/handlers/request_parsing.h"
#include "http/http_exchange.h"
#include "http/random_ids.h"
#include "http/server_context.h"
#include "http/unix_time.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

// Best priority a tenant without a cap of its own may use.
constexpr int kPriorityCap = 0;

/// First 16 hex digits of the SHA-256 of a name, so that logs can be searched without holding it.
std::string hashed(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    out += kHex[digest[i] >> 4];
    out += kHex[digest[i] & 15];
  }
  return out;
}

int num_prompts_of(const PromptSource& prompt) {
  const auto* raw = std::get_if<std::vector<RawPrompt>>(&prompt);
  return raw != nullptr ? static_cast<int>(raw->size()) : 1;
}

GenerationJob make_job(HttpExchange& exchange, GenerationCall& call, int priority) {
  GenerationJob job;
  job.tenant = exchange.principal.tenant;
  job.api = call.id_kind == openai::IdKind::kChat ? Api::kChat : Api::kCompletions;
  job.transport = call.stream.stream ? Transport::kSse : Transport::kHttp;
  job.prompt = std::move(call.prompt);
  job.prompt_param = call.prompt_param;
  job.sampling = std::move(call.fields.sampling);
  job.max_tokens = call.fields.max_tokens;
  job.priority = priority;
  job.prompt_logprobs = call.prompt_logprobs;
  job.cache_salt = std::move(call.fields.cache_salt);
  job.accepted_at = exchange.accepted_at();
  job.timeout = call.fields.timeout ? call.fields.timeout : exchange.timeout;
  return job;
}

openai::AnswerIdentity make_identity(const GenerationCall& call) {
  openai::AnswerIdentity identity;
  identity.id = random_object_id(call.id_kind);
  identity.created = unix_now();
  identity.model = call.model->id;
  identity.system_fingerprint = call.model->system_fingerprint;
  identity.service_tier = std::string(to_string(call.fields.service_tier));
  return identity;
}

openai::AnswerOptions make_options(const GenerationCall& call) {
  openai::AnswerOptions options;
  options.logprobs = call.fields.sampling.logprobs;
  options.return_token_ids = call.fields.return_token_ids;
  options.include_receipt = call.fields.include_receipt;
  options.include_usage = call.stream.include_usage;
  options.continuous_usage_stats = call.stream.continuous_usage_stats;
  return options;
}

}  // namespace

void note_generation_fields(RequestLog& log, const openai::GenerationFields& fields, bool is_stream,
                            int num_choices) {
  log.stream = is_stream;
  log.n = fields.sampling.n;
  log.finish_reasons.assign(static_cast<std::size_t>(num_choices), std::nullopt);
  const auto& end_user = fields.user ? fields.user : fields.safety_identifier;
  if (end_user) log.end_user = hashed(*end_user);
  log.ignored_fields = static_cast<int>(fields.ignored.count);
}

int effective_priority(const openai::GenerationFields& fields) {
  return std::max(fields.effective_priority(kPriorityCap), kPriorityCap);
}

int apply_field_headers(HttpExchange& exchange, const openai::GenerationFields& fields) {
  const std::string ignored = openai::ignored_header(fields.ignored);
  if (!ignored.empty()) exchange.add_header("x-paceline-ignored", ignored);
  const int priority = effective_priority(fields);
  if (priority != fields.effective_priority(kPriorityCap))
    exchange.add_header("x-paceline-priority", std::to_string(priority));
  return priority;
}

asio::awaitable<void> run_generation_call(HttpExchange& exchange, GenerationCall call,
                                          ShapeMaker make_shape) {
  ServerContext& context = exchange.context();
  if (!call.model->is_called(call.fields.model)) {
    co_await exchange.send_error(model_not_found(call.fields.model));
    co_return;
  }
  RequestLog& log = exchange.log();
  log.model = call.model->id;
  if (call.stream.stream) log.transport = "sse";
  const int num_prompts = num_prompts_of(call.prompt);
  const int num_choices = num_prompts * call.fields.sampling.n;
  note_generation_fields(log, call.fields, call.stream.stream, num_choices);
  const int priority = apply_field_headers(exchange, call.fields);
  log.priority = priority;
  const openai::AnswerIdentity identity = make_identity(call);
  const openai::AnswerOptions options = make_options(call);

  GenerationJob job = make_job(exchange, call, priority);
  auto prepared = co_await prepare_generation(context, call.model, std::move(job));
  if (!prepared) {
    co_await exchange.send_error(std::move(prepared.error()));
    co_return;
  }
  log.object_id = identity.id;
  log.tokenize_ms = prepared->tokenize_ms;
  log.max_tokens = prepared->request.max_tokens;
  const auto shape = make_shape(identity, options, prepared->request);
  auto stream = start_generation(context, std::move(*prepared), exchange.connection());
  if (!stream) {
    co_await exchange.send_error(std::move(stream.error()));
    co_return;
  }
  if (call.stream.stream) {
    co_await send_streamed_answer(exchange, **stream, *shape);
  } else {
    co_await send_whole_answer(exchange, **stream, *shape, num_choices, num_prompts);
  }
}

}  // namespace paceline
