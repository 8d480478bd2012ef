#pragma once

#include <vector>

#include "chat/chat_template.h"
#include "chat/message.h"
#include "http/openai/field_reader.h"
#include "http/openai/tool_definition.h"

namespace paceline::openai {

/// A conversation and how it is rendered.
struct ChatPrompt {
  std::vector<Message> messages = {};  ///< 1 … 4096
  ToolFields tools = {};
  /// Generation prompt, open last message and the tools' texts.
  ChatTemplateOptions template_options = {};
};

/// Reads `messages`, `tools`, `tool_choice`, `parallel_tool_calls`, `add_generation_prompt`,
/// `continue_final_message` and `chat_template_kwargs`.
[[nodiscard]] ChatPrompt read_chat_prompt(FieldReader& reader);

/// Reads and checks `chat_template_kwargs`; the served templates have no variables of their own.
void read_chat_template_kwargs(FieldReader& reader);

}  // namespace paceline::openai
