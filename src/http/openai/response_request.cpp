#include "http/openai/response_request.h"

#include <algorithm>
#include <array>

#include "http/openai/chat_prompt.h"
#include "http/openai/unserved_fields.h"

namespace paceline::openai {
namespace {

constexpr std::string_view kIncludeLogprobs = "message.output_text.logprobs";

/// `input`, `instructions`, `previous_response_id` and the tools of a create or a count.
template <typename Request>
void read_prompt_fields(FieldReader& reader, Request& request) {
  request.previous_response_id = reader.string("previous_response_id");
  request.instructions = reader.string("instructions");
  const bool has_input = reader.value("input").has_value();
  request.input = read_input_items(reader);
  if (!request.previous_response_id && reader.ok()) {
    if (!has_input) reader.missing("input");
    if (has_input && request.input.empty()) {
      reader.fail(ErrorCode::kInvalidValue, "input", "input must have at least one item");
    }
  }
  request.tools = read_tool_fields(reader, ToolShape::kFlat);
}

void read_text_options(FieldReader& reader) {
  const auto text = reader.object("text");
  if (!text) return;
  FieldReader nested(*text, reader.path("text"));
  refuse_output_format(nested, "format");
  accept_only(nested, "verbosity", "medium");
  nested.refuse_unread();
  if (const auto result = nested.result(); !result) reader.fail(result.error());
}

/// Reads `include`; returns whether it asks for log-probabilities.
bool read_include(FieldReader& reader) {
  constexpr std::array<std::string_view, 8> kKnown{kIncludeLogprobs,
                                                   "file_search_call.results",
                                                   "web_search_call.results",
                                                   "web_search_call.action.sources",
                                                   "message.input_image.image_url",
                                                   "computer_call_output.output.image_url",
                                                   "code_interpreter_call.outputs",
                                                   "reasoning.encrypted_content"};
  bool logprobs = false;
  const auto include = reader.array("include");
  if (!include) return logprobs;
  for (const JsonValue element : include->elements()) {
    const bool known = element.is_string() &&
                       std::find(kKnown.begin(), kKnown.end(), element.text()) != kKnown.end();
    if (!known) {
      reader.fail(element.is_string() ? ErrorCode::kInvalidValue : ErrorCode::kInvalidType,
                  "include", "include has an element that is not one of the known strings");
      return logprobs;
    }
    logprobs = logprobs || element.text() == kIncludeLogprobs;
  }
  return logprobs;
}

void read_logprobs(FieldReader& reader, ResponseRequest& request) {
  constexpr std::int64_t kMaxTopLogprobs = 20;
  request.include_logprobs = read_include(reader);
  const auto top = reader.integer("top_logprobs", 0, kMaxTopLogprobs).value_or(0);
  if (top > 0 && !request.include_logprobs) {
    reader.fail(ErrorCode::kInvalidValue, "top_logprobs",
                "top_logprobs needs include to have " + std::string(kIncludeLogprobs));
  }
  request.fields.sampling.logprobs = request.include_logprobs;
  request.fields.sampling.top_logprobs = static_cast<int>(top);
}

void refuse_reasoning(FieldReader& reader) {
  const auto reasoning = reader.object("reasoning");
  if (!reasoning) return;
  FieldReader nested(*reasoning, reader.path("reasoning"));
  accept_only(nested, "effort", "none");
  nested.refuse("summary");
  nested.refuse_unread();
  if (const auto result = nested.result(); !result) reader.fail(result.error());
}

void refuse_unserved(FieldReader& reader) {
  for (const std::string_view name :
       {"conversation", "prompt", "max_tool_calls", "context_management"}) {
    reader.refuse(name);
  }
  refuse_reasoning(reader);
  accept_only(reader, "prompt_cache_retention", "in_memory");
  refuse_grammar_fields(reader);
  refuse_truncation(reader);
}

void read_stream_options(FieldReader& reader) {
  const auto options = reader.object("stream_options");
  if (!options) return;
  FieldReader nested(*options, reader.path("stream_options"));
  accept_only_false(nested, "include_obfuscation");
  nested.refuse_unread();
  if (const auto result = nested.result(); !result) reader.fail(result.error());
}

}  // namespace

ResponseRequest read_response_fields(FieldReader& reader, const ParseContext& context) {
  ResponseRequest request;
  request.fields = read_generation_fields(reader, context);
  request.fields.sampling.n = 1;
  read_prompt_fields(reader, request);
  request.fields.max_tokens = read_token_cap(reader, "max_output_tokens", 1);
  check_min_tokens(reader, request.fields);
  read_chat_template_kwargs(reader);
  request.store = reader.boolean("store").value_or(true);
  read_text_options(reader);
  read_logprobs(reader, request);
  refuse_unserved(reader);
  refuse_tool_calls(reader, request.tools);
  return request;
}

Result<ResponseRequest> parse_response_request(std::string_view body, const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  ResponseRequest request = read_response_fields(reader, context);
  request.stream = reader.boolean("stream").value_or(false);
  read_stream_options(reader);
  accept_only_false(reader, "background");
  request.fields.ignored = take_ignored(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

Result<InputTokensRequest> parse_input_tokens_request(std::string_view body,
                                                      const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  InputTokensRequest request;
  request.model = reader.required_string("model");
  read_prompt_fields(reader, request);
  read_text_options(reader);
  if (context.strict_fields) reader.refuse_unread();

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

}  // namespace paceline::openai
