#pragma once

#include <string>

#include "chat/chat_template.h"

namespace paceline {

/// Qwen2.5 ChatML with tools in the hermes form. A conversation that does not start with a system
/// message gets the default system text; an empty system message stays empty.
class Qwen25Template final : public ChatTemplate {
 public:
  explicit Qwen25Template(std::string default_system)
      : default_system_(std::move(default_system)) {}

  [[nodiscard]] Result<std::vector<TextSegment>> render(
      std::span<const Message> messages, const ChatTemplateOptions& options) const override;

 private:
  std::string default_system_;
};

}  // namespace paceline
