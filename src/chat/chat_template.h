#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/message.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// What the end of the prompt looks like.
struct ChatTemplateOptions {
  /// Opens an assistant turn after the last message.
  bool add_generation_prompt = true;
  /// Leaves the last message, an assistant turn without calls, open. Excludes
  /// add_generation_prompt.
  bool continue_final_message = false;
  /// Tools as compact JSON texts, `{"type":"function","function":{…}}`, in the order of the
  /// request.
  std::vector<std::string> tools = {};
};

/// Renders conversations the way one model family was trained. Immutable; any thread.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;

  /// Returns the prompt as segments: template text parses special tokens, message text never does.
  /// Errors: kInvalidValue with param `messages[i]…` for a conversation the family cannot express.
  [[nodiscard]] virtual Result<std::vector<TextSegment>> render(
      std::span<const Message> messages, const ChatTemplateOptions& options) const = 0;
};

/// Recognises the template family from the file's Jinja text. An empty text gives Qwen2.5 ChatML
/// (the caller warns). `override_name` is empty, or `chatml` to take Qwen2.5 ChatML for a text that
/// is not recognised. Errors: kBadFile naming what was not recognised; kBadConfig for another
/// override.
[[nodiscard]] Result<std::unique_ptr<ChatTemplate>> make_chat_template(
    std::string_view jinja_text, std::string_view override_name);

/// Joins segments to the text a person would read.
[[nodiscard]] std::string joined_text(std::span<const TextSegment> segments);

}  // namespace paceline
