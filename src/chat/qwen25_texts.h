#pragma once

#include <string_view>

namespace paceline::qwen25 {

// What the Qwen2.5 chat template writes between the contents of a conversation. Rendering uses it,
// and recognising the template compares with it. Source: the chat template of the
// Qwen2.5-Instruct models.

inline constexpr std::string_view kDefaultSystem =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

inline constexpr std::string_view kTurnStart = "<|im_start|>";
inline constexpr std::string_view kTurnEnd = "<|im_end|>";
inline constexpr std::string_view kTurnEndLine = "<|im_end|>\n";
inline constexpr std::string_view kSystemTurn = "<|im_start|>system\n";
inline constexpr std::string_view kAssistantTurn = "<|im_start|>assistant\n";

inline constexpr std::string_view kToolsHead =
    "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>";
inline constexpr std::string_view kToolsTail =
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n";

inline constexpr std::string_view kCallHead = "\n<tool_call>\n{\"name\": \"";
inline constexpr std::string_view kCallMiddle = "\", \"arguments\": ";
inline constexpr std::string_view kCallTail = "}\n</tool_call>";

inline constexpr std::string_view kResponsesTurn = "<|im_start|>user";
inline constexpr std::string_view kResponseHead = "\n<tool_response>\n";
inline constexpr std::string_view kResponseTail = "\n</tool_response>";

}  // namespace paceline::qwen25
