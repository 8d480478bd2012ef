#include "http/openai/tokenize_request.h"

namespace paceline::openai {
namespace {

/// Unknown fields have no effect on the token endpoints either; the strict server refuses them.
void finish(FieldReader& reader, const ParseContext& context) {
  if (context.strict_fields) reader.refuse_unread();
}

}  // namespace

Result<TokenizeRequest> parse_tokenize_request(std::string_view body, const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  TokenizeRequest request;
  request.model = reader.string("model");
  request.return_token_strs = reader.boolean("return_token_strs").value_or(false);
  auto text = reader.string("prompt");
  const bool has_messages = reader.value("messages").has_value();
  if (text && has_messages) {
    reader.fail(ErrorCode::kInvalidValue, "prompt", "prompt and messages exclude each other");
  } else if (has_messages) {
    request.prompt = read_chat_prompt(reader);
  } else {
    if (!text && reader.ok()) reader.missing("prompt");
    request.prompt = TextPrompt{.text = std::move(text).value_or(""),
                                .parse_special = reader.boolean("parse_special").value_or(true)};
  }
  finish(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

Result<DetokenizeRequest> parse_detokenize_request(std::string_view body,
                                                   const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  DetokenizeRequest request;
  request.model = reader.string("model");
  request.skip_special_tokens = reader.boolean("skip_special_tokens").value_or(false);
  if (const auto tokens = reader.required_array("tokens")) {
    request.tokens.reserve(tokens->size());
    for (const JsonValue element : tokens->elements()) {
      const auto id = element.is_number() ? element.to_int64() : std::nullopt;
      if (!id || *id < 0 || *id >= context.vocab_size) {
        reader.fail(
            id ? ErrorCode::kInvalidValue : ErrorCode::kInvalidType, "tokens",
            "tokens must be ids of the vocabulary, 0 to " + std::to_string(context.vocab_size - 1));
        break;
      }
      request.tokens.push_back(TokenId{static_cast<std::int32_t>(*id)});
    }
  }
  finish(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

Result<ApplyTemplateRequest> parse_apply_template_request(std::string_view body,
                                                          const ParseContext& context) {
  const auto document = JsonDocument::parse_object(body, context.json);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");

  ApplyTemplateRequest request;
  request.model = reader.string("model");
  request.prompt = read_chat_prompt(reader);
  finish(reader, context);

  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return request;
}

}  // namespace paceline::openai
