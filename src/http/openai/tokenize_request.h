#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "http/openai/chat_prompt.h"
#include "http/openai/parse_context.h"

namespace paceline::openai {

/// A text to be encoded as it is.
struct TextPrompt {
  std::string text;
  bool parse_special = true;
};

/// Body of POST /tokenize (API.md §7.2).
struct TokenizeRequest {
  std::optional<std::string> model = {};  ///< absent: the default model
  std::variant<TextPrompt, ChatPrompt> prompt;
  bool return_token_strs = false;
};
/// Body of POST /detokenize; all ids are defined.
struct DetokenizeRequest {
  std::optional<std::string> model = {};
  std::vector<TokenId> tokens = {};
  bool skip_special_tokens = false;
};
/// Body of POST /apply-template.
struct ApplyTemplateRequest {
  std::optional<std::string> model = {};
  ChatPrompt prompt;
};

/// Errors of all three: the 400 rows of API.md §1.1, with the field's path.
[[nodiscard]] Result<TokenizeRequest> parse_tokenize_request(std::string_view body,
                                                             const ParseContext& context);
[[nodiscard]] Result<DetokenizeRequest> parse_detokenize_request(std::string_view body,
                                                                 const ParseContext& context);
[[nodiscard]] Result<ApplyTemplateRequest> parse_apply_template_request(
    std::string_view body, const ParseContext& context);

}  // namespace paceline::openai
