#include "chat/qwen25_template.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "chat/json_text.h"
#include "chat/qwen25_texts.h"

namespace paceline {
namespace {

using namespace qwen25;  // NOLINT(google-build-using-namespace): the texts of this one template

/// Collects a prompt; neighbours of one kind become one segment.
class Prompt {
 public:
  void add_markup(std::string_view text) { add(text, SpecialText::kParse); }
  void add_text(std::string_view text) { add(text, SpecialText::kPlain); }

  std::vector<TextSegment> take() { return std::move(segments_); }

 private:
  void add(std::string_view text, SpecialText special) {
    if (text.empty()) return;
    if (segments_.empty() || segments_.back().special != special) {
      segments_.push_back({std::string(), special});
    }
    segments_.back().text += text;
  }

  std::vector<TextSegment> segments_;
};

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kTool:
      return "tool";
  }
  CHECK(false);
}

Result<void> check_request(std::span<const Message> messages, const ChatTemplateOptions& options) {
  if (messages.empty()) {
    return fail(ErrorCode::kInvalidValue, "A conversation needs at least one message.", "messages");
  }
  if (!options.continue_final_message) return {};
  if (options.add_generation_prompt) {
    return fail(ErrorCode::kInvalidValue,
                "continue_final_message and add_generation_prompt exclude each other.",
                "continue_final_message");
  }
  const Message& last = messages.back();
  if (last.role != Role::kAssistant || !last.tool_calls.empty()) {
    return fail(ErrorCode::kInvalidValue,
                "continue_final_message needs an assistant message without tool calls at the end.",
                "messages[" + std::to_string(messages.size() - 1) + "]");
  }
  return {};
}

// Appends the tool list that follows the system text, and ends the system turn.
Result<void> add_tools(std::span<const std::string> tools, Prompt& prompt) {
  prompt.add_markup(kToolsHead);
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const std::optional<std::string> json = to_python_json(tools[i]);
    if (!json) {
      return fail(ErrorCode::kInvalidValue, "The tool is not valid JSON.",
                  "tools[" + std::to_string(i) + "]");
    }
    prompt.add_markup("\n");
    prompt.add_text(*json);
  }
  prompt.add_markup(kToolsTail);
  return {};
}

void add_turn(const Message& message, bool stays_open, Prompt& prompt) {
  prompt.add_markup(kTurnStart);
  prompt.add_markup(name_of(message.role));
  prompt.add_markup("\n");
  prompt.add_text(message.content);
  if (!stays_open) prompt.add_markup(kTurnEndLine);
}

void add_turn_with_calls(const Message& message, Prompt& prompt) {
  prompt.add_markup(kTurnStart);
  prompt.add_markup(name_of(message.role));
  if (!message.content.empty()) {
    prompt.add_markup("\n");
    prompt.add_text(message.content);
  }
  for (const ToolCall& call : message.tool_calls) {
    const std::optional<std::string> arguments = to_python_json(call.arguments);
    prompt.add_markup(kCallHead);
    prompt.add_text(call.name);
    prompt.add_markup(kCallMiddle);
    prompt.add_text(arguments ? *arguments : to_json_string(call.arguments));
    prompt.add_markup(kCallTail);
  }
  prompt.add_markup(kTurnEndLine);
}

// Results of tools that follow each other share one user turn.
void add_tool_result(std::span<const Message> messages, std::size_t i, Prompt& prompt) {
  const bool is_first = i == 0 || messages[i - 1].role != Role::kTool;
  const bool is_last = i + 1 == messages.size() || messages[i + 1].role != Role::kTool;
  if (is_first) prompt.add_markup(kResponsesTurn);
  prompt.add_markup(kResponseHead);
  prompt.add_text(messages[i].content);
  prompt.add_markup(kResponseTail);
  if (is_last) prompt.add_markup(kTurnEndLine);
}

}  // namespace

Result<std::vector<TextSegment>> Qwen25Template::render(std::span<const Message> messages,
                                                        const ChatTemplateOptions& options) const {
  if (auto valid = check_request(messages, options); !valid) return tl::unexpected(valid.error());
  Prompt prompt;
  const bool has_system = messages.front().role == Role::kSystem;
  prompt.add_markup(kSystemTurn);
  if (has_system) {
    prompt.add_text(messages.front().content);
  } else {
    prompt.add_markup(default_system_);
  }
  if (options.tools.empty()) {
    prompt.add_markup(kTurnEndLine);
  } else if (auto added = add_tools(options.tools, prompt); !added) {
    return tl::unexpected(added.error());
  }
  for (std::size_t i = has_system ? 1 : 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (message.role == Role::kTool) {
      add_tool_result(messages, i, prompt);
    } else if (!message.tool_calls.empty()) {
      add_turn_with_calls(message, prompt);
    } else {
      const bool is_last = i + 1 == messages.size();
      add_turn(message, is_last && options.continue_final_message, prompt);
    }
  }
  if (options.add_generation_prompt) prompt.add_markup(kAssistantTurn);
  return prompt.take();
}

}  // namespace paceline
