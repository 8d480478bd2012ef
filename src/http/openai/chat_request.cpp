#include "http/openai/chat_request.h"

#include "http/openai/unserved_fields.h"

namespace paceline::openai {
namespace {

constexpr std::int64_t kMaxChoices = 128;
constexpr std::int64_t kMaxTopLogprobs = 20;

void read_caps(FieldReader& reader, GenerationFields& fields) {
  const auto older = read_token_cap(reader, "max_tokens", 1);
  const auto newer = read_token_cap(reader, "max_completion_tokens", 1);
  fields.max_tokens = newer ? newer : older;
  check_min_tokens(reader, fields);
}

void read_logprobs(FieldReader& reader, SamplingParams& sampling) {
  sampling.logprobs = reader.boolean("logprobs").value_or(false);
  sampling.top_logprobs =
      static_cast<int>(reader.integer("top_logprobs", 0, kMaxTopLogprobs).value_or(0));
  if (sampling.top_logprobs > 0 && !sampling.logprobs) {
    reader.fail(ErrorCode::kInvalidValue, "top_logprobs", "top_logprobs needs logprobs: true");
  }
}

void accept_one_best_of(FieldReader& reader) {
  if (reader.integer("best_of").value_or(1) != 1) {
    reader.fail(ErrorCode::kUnsupportedParameter, "best_of", "best_of is only served as 1");
  }
}

}  // namespace

Result<ChatRequest> parse_chat_request(std::string_view body, const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  ChatRequest request;
  request.fields = read_generation_fields(reader, context);
  request.prompt = read_chat_prompt(reader);
  read_caps(reader, request.fields);
  request.fields.sampling.n =
      static_cast<int>(reader.integer("n", 1, kMaxChoices).value_or(context.default_sampling.n));
  read_logprobs(reader, request.fields.sampling);
  request.stream = read_stream_fields(reader, request.fields.include_receipt);
  refuse_unserved_chat_fields(reader);
  accept_one_best_of(reader);
  refuse_structured_output(reader);
  refuse_truncation(reader);
  refuse_tool_calls(reader, request.prompt.tools);
  request.fields.ignored = take_ignored(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

}  // namespace paceline::openai
