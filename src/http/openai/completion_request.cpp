#include "http/openai/completion_request.h"

#include <algorithm>

#include "http/openai/unserved_fields.h"

namespace paceline::openai {
namespace {

constexpr std::size_t kMaxPrompts = 128;
constexpr std::int64_t kMaxChoices = 128;
constexpr std::int64_t kMaxLegacyLogprobs = 5;
constexpr int kDefaultMaxTokens = 16;

constexpr std::string_view kPromptForms =
    "prompt must be a string, an array of strings, an array of token ids or an array of arrays of "
    "token ids, none of them empty";

/// Reads an array of ids. Errors: as parse_completion_request().
Result<std::vector<TokenId>> read_ids(JsonValue array, int vocab_size) {
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  for (const JsonValue element : array.elements()) {
    const auto id = element.is_number() ? element.to_int64() : std::nullopt;
    if (!id) return fail(ErrorCode::kInvalidType, std::string(kPromptForms), "prompt");
    if (*id < 0 || *id >= vocab_size) {
      return fail(ErrorCode::kInvalidValue,
                  "prompt has an id that is not one of the vocabulary, 0 to " +
                      std::to_string(vocab_size - 1),
                  "prompt");
    }
    ids.push_back(TokenId{static_cast<std::int32_t>(*id)});
  }
  if (ids.empty()) return fail(ErrorCode::kInvalidValue, std::string(kPromptForms), "prompt");
  return ids;
}

Result<std::vector<CompletionPrompt>> read_prompt_list(JsonValue array, int vocab_size) {
  if (array.size() == 0) {
    return fail(ErrorCode::kInvalidValue, std::string(kPromptForms), "prompt");
  }
  const JsonKind kind = (*array.elements().begin()).kind();
  if (kind == JsonKind::kNumber) {
    auto ids = read_ids(array, vocab_size);
    if (!ids) return tl::unexpected(std::move(ids.error()));
    return std::vector<CompletionPrompt>{std::move(*ids)};
  }
  if (kind != JsonKind::kString && kind != JsonKind::kArray) {
    return fail(ErrorCode::kInvalidType, std::string(kPromptForms), "prompt");
  }
  if (array.size() > kMaxPrompts) {
    return fail(ErrorCode::kInvalidValue,
                "there can be at most 128 prompts, got " + std::to_string(array.size()), "prompt");
  }
  std::vector<CompletionPrompt> prompts;
  for (const JsonValue element : array.elements()) {
    if (element.kind() != kind) {
      return fail(ErrorCode::kInvalidType, std::string(kPromptForms), "prompt");
    }
    if (kind == JsonKind::kString) {
      prompts.emplace_back(std::string(element.text()));
      continue;
    }
    auto ids = read_ids(element, vocab_size);
    if (!ids) return tl::unexpected(std::move(ids.error()));
    prompts.emplace_back(std::move(*ids));
  }
  return prompts;
}

std::vector<CompletionPrompt> read_prompts(FieldReader& reader, int vocab_size) {
  const auto value = reader.value("prompt");
  if (!value) {
    if (reader.ok()) reader.missing("prompt");
    return {};
  }
  if (value->is_string()) return {std::string(value->text())};
  if (!value->is_array()) {
    reader.fail(ErrorCode::kInvalidType, "prompt", std::string(kPromptForms));
    return {};
  }
  auto prompts = read_prompt_list(*value, vocab_size);
  if (prompts) return std::move(*prompts);
  reader.fail(std::move(prompts.error()));
  return {};
}

void read_choices(FieldReader& reader, CompletionRequest& request, int default_n) {
  const std::int64_t n = reader.integer("n", 1, kMaxChoices).value_or(default_n);
  request.fields.sampling.n = static_cast<int>(n);
  if (n * static_cast<std::int64_t>(request.prompts.size()) > kMaxChoices) {
    reader.fail(ErrorCode::kInvalidValue, "n", "prompts times n must be at most 128");
  }
  if (reader.integer("best_of").value_or(n) != n) {
    reader.fail(ErrorCode::kUnsupportedParameter, "best_of", "best_of is only served equal to n");
  }
}

/// Fields of chat that completions do not have.
void refuse_chat_only_fields(FieldReader& reader) {
  for (const std::string_view name :
       {"messages", "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs",
        "add_generation_prompt", "continue_final_message", "truncation", "truncation_options",
        "max_completion_tokens", "top_logprobs"}) {
    reader.refuse(name);
  }
  if (!reader.string("suffix").value_or("").empty()) {
    reader.fail(ErrorCode::kUnsupportedParameter, "suffix", "suffix is only served empty");
  }
}

}  // namespace

Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  CompletionRequest request;
  GenerationFields& fields = request.fields;
  fields = read_generation_fields(reader, context);
  request.prompts = read_prompts(reader, context.vocab_size);
  fields.max_tokens = read_token_cap(reader, "max_tokens", 0);
  check_min_tokens(reader, fields);
  if (!fields.max_tokens) fields.max_tokens = kDefaultMaxTokens;
  read_choices(reader, request, context.default_sampling.n);
  const auto logprobs = reader.integer("logprobs", 0, kMaxLegacyLogprobs);
  fields.sampling.logprobs = logprobs.has_value();
  fields.sampling.top_logprobs = static_cast<int>(logprobs.value_or(0));
  request.echo = reader.boolean("echo").value_or(false);
  request.stream = read_stream_fields(reader, fields.include_receipt);
  refuse_chat_only_fields(reader);
  refuse_unserved_chat_fields(reader);
  refuse_structured_output(reader);
  fields.ignored = take_ignored(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

}  // namespace paceline::openai
