#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/openai/field_reader.h"

namespace paceline::openai {

/// A function the model may call; schemas stay JSON text.
struct ToolDefinition {
  std::string name;
  std::optional<std::string> description = {};
  std::optional<std::string> parameters = {};  ///< compact JSON of a schema object
  std::optional<bool> strict = {};
  /// Compact `{"type":"function","function":{…}}` with name, description and parameters in the
  /// client's order: what the chat template shows to the model.
  std::string template_text = {};
};

enum class ToolChoice { kNone, kAuto, kRequired, kNamed };

/// `tools`, `tool_choice` and `parallel_tool_calls` after validation.
struct ToolFields {
  std::vector<ToolDefinition> tools = {};
  ToolChoice choice = ToolChoice::kNone;
  std::string chosen_name = {};           ///< for kNamed
  std::string asked_choice = "\"auto\"";  ///< JSON of `tool_choice` as responses repeat it
  bool parallel_calls = true;
};

/// How a tool is written: chat nests name and schema under `function`, responses are flat.
enum class ToolShape { kNested, kFlat };

/// Reads and checks the three fields (API.md §3.6).
[[nodiscard]] ToolFields read_tool_fields(FieldReader& reader, ToolShape shape);
/// Refuses, with unsupported_parameter, tools that the model may call: output is not parsed for
/// calls, so only `tool_choice: "none"` is served with tools.
void refuse_tool_calls(FieldReader& reader, const ToolFields& fields);

/// The tools as the chat template shows them, in the order of the request.
[[nodiscard]] std::vector<std::string> template_texts(const std::vector<ToolDefinition>& tools);

/// Whether `name` matches ^[A-Za-z0-9_-]{1,64}$.
[[nodiscard]] bool is_valid_function_name(std::string_view name);

}  // namespace paceline::openai
