#include "http/openai/chat_prompt.h"

#include "http/openai/chat_messages.h"

namespace paceline::openai {

void read_chat_template_kwargs(FieldReader& reader) {
  constexpr std::size_t kMaxKeys = 32;
  const auto kwargs = reader.object("chat_template_kwargs");
  if (!kwargs) return;
  if (kwargs->size() > kMaxKeys) {
    return reader.fail(
        ErrorCode::kInvalidValue, "chat_template_kwargs",
        "chat_template_kwargs must have at most 32 keys, got " + std::to_string(kwargs->size()));
  }
  for (const auto& member : kwargs->members()) {
    if (member.key == "messages" || member.key == "tools" ||
        member.key == "add_generation_prompt") {
      return reader.fail(ErrorCode::kInvalidValue, "chat_template_kwargs",
                         "chat_template_kwargs cannot replace " + std::string(member.key));
    }
  }
}

ChatPrompt read_chat_prompt(FieldReader& reader) {
  ChatPrompt prompt;
  prompt.messages = read_messages(reader);
  prompt.tools = read_tool_fields(reader, ToolShape::kNested);
  prompt.template_options.tools = template_texts(prompt.tools.tools);
  read_chat_template_kwargs(reader);

  const auto add = reader.boolean("add_generation_prompt");
  const bool open = reader.boolean("continue_final_message").value_or(false);
  if (open && add.value_or(false)) {
    reader.fail(ErrorCode::kInvalidValue, "continue_final_message",
                "continue_final_message and add_generation_prompt exclude each other");
  }
  if (open && reader.ok()) {
    const Message& last = prompt.messages.back();
    if (last.role != Role::kAssistant || !last.tool_calls.empty()) {
      reader.fail(ErrorCode::kInvalidValue, "continue_final_message",
                  "continue_final_message needs an assistant message without calls at the end");
    }
  }
  prompt.template_options.continue_final_message = open;
  prompt.template_options.add_generation_prompt = add.value_or(!open);
  return prompt;
}

}  // namespace paceline::openai
