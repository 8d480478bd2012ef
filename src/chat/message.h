#pragma once

#include <optional>
#include <string>
#include <vector>

namespace paceline {

enum class Role { kSystem, kUser, kAssistant, kTool };

/// A call the assistant made. `arguments` is the text of a JSON object.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
};

/// One turn of a conversation after validation; `developer` has become kSystem, text parts are
/// joined.
struct Message {
  Role role = Role::kUser;
  std::string content;
  std::vector<ToolCall> tool_calls = {};  // assistant only
  std::string tool_call_id = {};          // tool only
};

}  // namespace paceline
