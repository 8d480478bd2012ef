#include "chat/chat_template.h"

#include "chat/qwen25_template.h"
#include "chat/qwen25_texts.h"
#include "chat/template_recognition.h"

namespace paceline {

Result<std::unique_ptr<ChatTemplate>> make_chat_template(std::string_view jinja_text,
                                                         std::string_view override_name) {
  if (!override_name.empty() && override_name != "chatml") {
    return fail(ErrorCode::kBadConfig, "the chat template `" + std::string(override_name) +
                                           "` is not known, only `chatml`");
  }
  Result<std::string> default_system = std::string(qwen25::kDefaultSystem);
  if (!jinja_text.empty()) {
    Result<std::string> recognised = recognise_qwen25_template(jinja_text);
    if (recognised || override_name.empty()) default_system = std::move(recognised);
  }
  if (!default_system) return tl::unexpected(default_system.error());
  return std::make_unique<Qwen25Template>(*std::move(default_system));
}

std::string joined_text(std::span<const TextSegment> segments) {
  std::string text;
  for (const TextSegment& segment : segments) text += segment.text;
  return text;
}

}  // namespace paceline
