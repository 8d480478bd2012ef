#include "http/openai/conversation_item.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "http/openai/chat_messages.h"

namespace paceline::openai {
namespace {

constexpr std::size_t kMaxItems = 4096;
constexpr std::array<std::string_view, 3> kMessageParts{"input_text", "output_text", "text"};
constexpr std::array<std::string_view, 1> kResultParts{"input_text"};

std::string read_text(FieldReader& reader, std::string_view name,
                      std::span<const std::string_view> part_types) {
  const auto value = reader.value(name);
  if (!value) {
    if (reader.ok()) reader.missing(name);
    return {};
  }
  auto text = read_content(*value, reader.path(name), part_types);
  if (text) return std::move(*text);
  reader.fail(std::move(text.error()));
  return {};
}

MessageItem read_message_item(FieldReader& reader) {
  constexpr std::array<std::string_view, 4> kNames{"user", "assistant", "system", "developer"};
  constexpr std::array<Role, 4> kRoles{Role::kUser, Role::kAssistant, Role::kSystem, Role::kSystem};
  const auto role = reader.choice("role", kNames);
  if (!role && reader.ok()) reader.missing("role");
  MessageItem item;
  item.role = kRoles[role.value_or(0)];
  item.text = read_text(reader, "content", kMessageParts);
  return item;
}

ConversationItem read_item(FieldReader& reader) {
  const std::string type = reader.string("type").value_or("message");
  if (type == "message") return read_message_item(reader);
  if (type == "function_call") {
    FunctionCallItem item;
    item.call_id = reader.required_string("call_id", 1);
    item.name = reader.required_string("name", 1);
    item.arguments = reader.required_string("arguments");
    return item;
  }
  if (type == "function_call_output") {
    FunctionResultItem item;
    item.call_id = reader.required_string("call_id", 1);
    item.output = read_text(reader, "output", kResultParts);
    return item;
  }
  reader.fail(ErrorCode::kUnsupportedParameter, "type",
              "only items of type message, function_call and function_call_output are served");
  return MessageItem{};
}

}  // namespace

std::vector<ConversationItem> read_input_items(FieldReader& reader) {
  std::vector<ConversationItem> items;
  const auto input = reader.value("input");
  if (!input) return items;
  if (input->is_string()) {
    items.emplace_back(MessageItem{Role::kUser, std::string(input->text())});
    return items;
  }
  if (!input->is_array()) {
    reader.fail(ErrorCode::kInvalidType, "input",
                "input must be a string or an array of items, got " +
                    std::string(type_name(input->kind())));
    return items;
  }
  if (input->size() > kMaxItems) {
    reader.fail(ErrorCode::kInvalidValue, "input",
                "input must have at most 4096 items, got " + std::to_string(input->size()));
    return items;
  }
  items.reserve(input->size());
  for (const JsonValue element : input->elements()) {
    const std::string path = "input[" + std::to_string(items.size()) + "]";
    if (!element.is_object()) {
      reader.fail(Error{ErrorCode::kInvalidType, path + " must be an object", path});
      return items;
    }
    FieldReader nested(element, path);
    items.push_back(read_item(nested));
    if (const auto result = nested.result(); !result) {
      reader.fail(result.error());
      return items;
    }
  }
  return items;
}

std::size_t stored_bytes(const ConversationItem& item) {
  struct Size {
    std::size_t operator()(const MessageItem& message) const { return message.text.size(); }
    std::size_t operator()(const FunctionCallItem& call) const {
      return call.call_id.size() + call.name.size() + call.arguments.size();
    }
    std::size_t operator()(const FunctionResultItem& result) const {
      return result.call_id.size() + result.output.size();
    }
  };
  return sizeof(ConversationItem) + std::visit(Size{}, item);
}

Result<void> check_function_results(std::span<const ConversationItem> earlier,
                                    std::span<const ConversationItem> input) {
  std::unordered_set<std::string_view> calls;
  const auto note_call = [&](const ConversationItem& item) {
    if (const auto* call = std::get_if<FunctionCallItem>(&item)) calls.insert(call->call_id);
  };
  for (const ConversationItem& item : earlier) note_call(item);
  for (std::size_t i = 0; i < input.size(); ++i) {
    note_call(input[i]);
    const auto* result = std::get_if<FunctionResultItem>(&input[i]);
    if (result != nullptr && !calls.contains(result->call_id)) {
      const std::string path = "input[" + std::to_string(i) + "].call_id";
      return fail(ErrorCode::kInvalidValue, path + " is not a call of the conversation", path);
    }
  }
  return {};
}

std::vector<Message> to_messages(const std::string* instructions,
                                 std::span<const ConversationItem> items) {
  std::vector<Message> messages;
  messages.reserve(items.size() + 1);
  if (instructions != nullptr) messages.push_back({Role::kSystem, *instructions});
  bool joins_calls = false;  // the last message is an assistant turn that a call belongs to
  for (const ConversationItem& item : items) {
    if (const auto* message = std::get_if<MessageItem>(&item)) {
      messages.push_back({message->role, message->text});
      joins_calls = message->role == Role::kAssistant;
    } else if (const auto* call = std::get_if<FunctionCallItem>(&item)) {
      if (!joins_calls) messages.push_back({Role::kAssistant, ""});
      messages.back().tool_calls.push_back(
          {call->call_id, call->name, arguments_json(call->arguments)});
      joins_calls = true;
    } else {
      const auto& result = std::get<FunctionResultItem>(item);
      messages.push_back({Role::kTool, result.output});
      messages.back().tool_call_id = result.call_id;
      joins_calls = false;
    }
  }
  return messages;
}

}  // namespace paceline::openai
