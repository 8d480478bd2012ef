#include "http/openai/tool_definition.h"

#include <algorithm>
#include <array>
#include <utility>

#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

constexpr std::size_t kMaxTools = 128;

/// The members of a function that the model is shown, in the order of the request.
std::string function_text(JsonValue function) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [key, value] : function.members()) {
    const bool shown = key == "name" || key == "description" || key == "parameters";
    if (shown && !value.is_null()) json.key(key).raw(value.to_compact());
  }
  json.end_object();
  return out;
}

std::string nested_template_text(JsonValue tool, JsonValue function) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [key, value] : tool.members()) {
    if (key == "type") json.string("type", "function");
    if (key == "function") json.raw("function", function_text(function));
  }
  json.end_object();
  return out;
}

std::string flat_template_text(JsonValue tool) {
  return R"({"type":"function","function":)" + function_text(tool) + "}";
}

void read_function(FieldReader& reader, ToolDefinition& tool) {
  tool.name = reader.required_string("name");
  if (reader.ok() && !is_valid_function_name(tool.name)) {
    reader.fail(ErrorCode::kInvalidValue, "name",
                reader.path("name") + " must be 1 to 64 of A-Z, a-z, 0-9, _ and -");
  }
  tool.description = reader.string("description");
  if (const auto parameters = reader.object("parameters")) {
    tool.parameters = parameters->to_compact();
  }
  tool.strict = reader.boolean("strict");
}

/// Reads one element of `tools`; errors end up in `reader`.
ToolDefinition read_tool(FieldReader& reader, JsonValue value, const std::string& path,
                         ToolShape shape) {
  ToolDefinition tool;
  if (!value.is_object()) {
    reader.fail(Error{ErrorCode::kInvalidType, path + " must be an object", path});
    return tool;
  }
  FieldReader outer(value, path);
  const std::string type = outer.required_string("type");
  if (outer.ok() && type != "function") {
    outer.fail(ErrorCode::kUnsupportedParameter, "type", "only tools of type function are served");
  }
  if (shape == ToolShape::kFlat) {
    read_function(outer, tool);
    if (outer.ok()) tool.template_text = flat_template_text(value);
  } else if (const auto function = outer.object("function")) {
    FieldReader inner(*function, outer.path("function"));
    read_function(inner, tool);
    if (const auto result = inner.result(); !result) outer.fail(result.error());
    if (outer.ok()) tool.template_text = nested_template_text(value, *function);
  } else if (outer.ok()) {
    outer.missing("function");
  }
  if (const auto result = outer.result(); !result) reader.fail(result.error());
  return tool;
}

void check_unique_names(FieldReader& reader, const std::vector<ToolDefinition>& tools,
                        ToolShape shape) {
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const auto same = [&](const ToolDefinition& other) { return other.name == tools[i].name; };
    const auto end = tools.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(tools.begin(), end, same) == end) continue;
    const std::string path = "tools[" + std::to_string(i) + "]" +
                             (shape == ToolShape::kNested ? ".function.name" : ".name");
    return reader.fail(
        Error{ErrorCode::kInvalidValue, path + " is the name of another tool", path});
  }
}

/// The function's name of a `tool_choice` object; nothing when it has another form.
std::optional<std::string> chosen_name(JsonValue choice, ToolShape shape) {
  const auto type = choice.find("type");
  if (!type || !type->is_string() || type->text() != "function") return std::nullopt;
  std::optional<JsonValue> holder = choice;
  if (shape == ToolShape::kNested) holder = choice.find("function");
  if (!holder || !holder->is_object()) return std::nullopt;
  const auto name = holder->find("name");
  if (!name || !name->is_string()) return std::nullopt;
  return std::string(name->text());
}

void read_choice(FieldReader& reader, ToolShape shape, ToolFields& fields) {
  fields.choice = fields.tools.empty() ? ToolChoice::kNone : ToolChoice::kAuto;
  const auto value = reader.value("tool_choice");
  if (!value) return;
  fields.asked_choice = value->to_compact();
  const auto refuse = [&](ErrorCode code, std::string message) {
    reader.fail(code, "tool_choice", std::move(message));
  };
  if (value->is_string()) {
    constexpr std::array<std::string_view, 3> kChoices{"none", "auto", "required"};
    constexpr std::array<ToolChoice, 3> kValues{ToolChoice::kNone, ToolChoice::kAuto,
                                                ToolChoice::kRequired};
    const auto index = reader.choice("tool_choice", kChoices);
    if (!index) return;
    fields.choice = kValues[*index];
  } else if (value->is_object()) {
    auto name = chosen_name(*value, shape);
    if (!name) {
      return refuse(ErrorCode::kInvalidValue, "tool_choice must name a function of tools");
    }
    fields.choice = ToolChoice::kNamed;
    fields.chosen_name = std::move(*name);
  } else {
    return refuse(ErrorCode::kInvalidType, "tool_choice must be a string or an object, got " +
                                               std::string(type_name(value->kind())));
  }
  if (fields.tools.empty()) {
    if (fields.choice == ToolChoice::kRequired || fields.choice == ToolChoice::kNamed) {
      return refuse(ErrorCode::kInvalidValue,
                    "tool_choice asks for a call, but there are no tools");
    }
    fields.choice = ToolChoice::kNone;
  }
  const auto is_chosen = [&](const ToolDefinition& tool) {
    return tool.name == fields.chosen_name;
  };
  if (fields.choice == ToolChoice::kNamed &&
      std::none_of(fields.tools.begin(), fields.tools.end(), is_chosen)) {
    refuse(ErrorCode::kInvalidValue, "tool_choice names a function that is not in tools");
  }
}

}  // namespace

bool is_valid_function_name(std::string_view name) {
  constexpr std::size_t kMaxLength = 64;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxLength &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

ToolFields read_tool_fields(FieldReader& reader, ToolShape shape) {
  ToolFields fields;
  if (const auto tools = reader.array("tools", 0, kMaxTools)) {
    for (const JsonValue tool : tools->elements()) {
      const std::string path = "tools[" + std::to_string(fields.tools.size()) + "]";
      fields.tools.push_back(read_tool(reader, tool, path, shape));
    }
    if (reader.ok()) check_unique_names(reader, fields.tools, shape);
  }
  read_choice(reader, shape, fields);
  fields.parallel_calls = reader.boolean("parallel_tool_calls").value_or(true);
  return fields;
}

void refuse_tool_calls(FieldReader& reader, const ToolFields& fields) {
  if (fields.tools.empty() || fields.choice == ToolChoice::kNone) return;
  const std::string_view field = fields.choice == ToolChoice::kAuto ? "tools" : "tool_choice";
  reader.fail(ErrorCode::kUnsupportedParameter, field,
              std::string(field) +
                  ": calls are not supported; tools are served with "
                  "tool_choice none");
}

std::vector<std::string> template_texts(const std::vector<ToolDefinition>& tools) {
  std::vector<std::string> texts;
  texts.reserve(tools.size());
  for (const ToolDefinition& tool : tools) texts.push_back(tool.template_text);
  return texts;
}

}  // namespace paceline::openai
