#include "http/openai/chat_messages.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

constexpr std::size_t kMaxMessages = 4096;
constexpr std::array<std::string_view, 1> kPartTypes{"text"};

std::optional<Role> read_role(FieldReader& reader) {
  constexpr std::array<std::string_view, 5> kNames{"system", "developer", "user", "assistant",
                                                   "tool"};
  constexpr std::array<Role, 5> kRoles{Role::kSystem, Role::kSystem, Role::kUser, Role::kAssistant,
                                       Role::kTool};
  const auto index = reader.choice("role", kNames);
  if (!index) {
    if (reader.ok()) reader.missing("role");
    return std::nullopt;
  }
  return kRoles[*index];
}

ToolCall read_call(FieldReader& reader) {
  ToolCall call;
  call.id = reader.required_string("id", 1);
  const std::string type = reader.required_string("type");
  if (reader.ok() && type != "function") {
    reader.fail(ErrorCode::kInvalidValue, "type", reader.path("type") + " must be function");
  }
  const auto function = reader.object("function");
  if (!function) {
    if (reader.ok()) reader.missing("function");
    return call;
  }
  FieldReader nested(*function, reader.path("function"));
  call.name = nested.required_string("name", 1);
  call.arguments = arguments_json(nested.required_string("arguments"));
  if (const auto result = nested.result(); !result) reader.fail(result.error());
  return call;
}

std::vector<ToolCall> read_calls(FieldReader& reader) {
  std::vector<ToolCall> calls;
  const auto list = reader.array("tool_calls");
  if (!list) return calls;
  for (const JsonValue element : list->elements()) {
    const std::string path = reader.path("tool_calls") + "[" + std::to_string(calls.size()) + "]";
    if (!element.is_object()) {
      reader.fail(Error{ErrorCode::kInvalidType, path + " must be an object", path});
      return calls;
    }
    FieldReader nested(element, path);
    calls.push_back(read_call(nested));
    if (const auto result = nested.result(); !result) {
      reader.fail(result.error());
      return calls;
    }
  }
  return calls;
}

/// Reads `content` when it is there; returns whether it was.
bool read_own_content(FieldReader& reader, std::string& content) {
  const auto value = reader.value("content");
  if (!value) return false;
  auto text = read_content(*value, reader.path("content"), kPartTypes);
  if (text) {
    content = std::move(*text);
  } else {
    reader.fail(std::move(text.error()));
  }
  return true;
}

Message read_message(FieldReader& reader) {
  Message message;
  const auto role = read_role(reader);
  if (!role) return message;
  message.role = *role;
  bool has_content = read_own_content(reader, message.content);
  if (message.role == Role::kAssistant) {
    reader.refuse("function_call");
    reader.refuse("audio");
    const auto refusal = reader.string("refusal");
    if (!has_content && refusal) message.content = *refusal;
    message.tool_calls = read_calls(reader);
    has_content = has_content || refusal || !message.tool_calls.empty();
  }
  if (message.role == Role::kTool) message.tool_call_id = reader.required_string("tool_call_id", 1);
  if (!has_content && reader.ok()) reader.missing("content");
  return message;
}

}  // namespace

std::string arguments_json(std::string_view text) {
  if (const auto document = JsonDocument::parse(text)) return document->root().to_compact();
  std::string literal;
  append_json_string(literal, text);
  return literal;
}

Result<std::string> read_content(JsonValue content, const std::string& path,
                                 std::span<const std::string_view> part_types) {
  if (content.is_string()) return std::string(content.text());
  if (!content.is_array()) {
    return fail(ErrorCode::kInvalidType,
                path + " must be a string or an array of parts, got " +
                    std::string(type_name(content.kind())),
                path);
  }
  std::string joined;
  std::size_t index = 0;
  for (const JsonValue part : content.elements()) {
    const std::string name = "part " + std::to_string(index++) + " of " + path;
    const auto type = part.is_object() ? part.find("type") : std::nullopt;
    if (!type || !type->is_string()) {
      return fail(ErrorCode::kInvalidType, name + " must be an object with a type", path);
    }
    if (std::find(part_types.begin(), part_types.end(), type->text()) == part_types.end()) {
      return fail(ErrorCode::kInvalidValue, name + " has a type that is not served; only text is",
                  path);
    }
    const auto text = part.find("text");
    if (!text || text->is_null()) {
      return fail(ErrorCode::kMissingRequiredParameter, name + " has no text", path);
    }
    if (!text->is_string()) {
      return fail(ErrorCode::kInvalidType, "text in " + name + " must be a string", path);
    }
    joined += text->text();
  }
  return joined;
}

std::vector<Message> read_messages(FieldReader& reader) {
  std::vector<Message> messages;
  const auto list = reader.required_array("messages", 1, kMaxMessages);
  if (!list) return messages;
  messages.reserve(list->size());
  for (const JsonValue element : list->elements()) {
    const std::string path = "messages[" + std::to_string(messages.size()) + "]";
    if (!element.is_object()) {
      reader.fail(Error{ErrorCode::kInvalidType, path + " must be an object", path});
      return messages;
    }
    FieldReader nested(element, path);
    messages.push_back(read_message(nested));
    if (const auto result = nested.result(); !result) {
      reader.fail(result.error());
      return messages;
    }
  }
  return messages;
}

}  // namespace paceline::openai
