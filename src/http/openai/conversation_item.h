#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "chat/message.h"
#include "http/openai/field_reader.h"

namespace paceline::openai {

/// A message of a Responses conversation; the role is never kTool.
struct MessageItem {
  Role role = Role::kUser;
  std::string text;
};
/// A call the assistant made. `arguments` is the text as the client or the model wrote it.
struct FunctionCallItem {
  std::string call_id;
  std::string name;
  std::string arguments;
};
/// What a call returned.
struct FunctionResultItem {
  std::string call_id;
  std::string output;
};

/// Input or output item of a response (API.md §5.1), as far as the conversation needs it.
using ConversationItem = std::variant<MessageItem, FunctionCallItem, FunctionResultItem>;

/// Reads the field `input`: a string is one user message. Errors carry the item's path.
[[nodiscard]] std::vector<ConversationItem> read_input_items(FieldReader& reader);

/// Bytes that a stored item is counted with.
[[nodiscard]] std::size_t stored_bytes(const ConversationItem& item);

/// Checks that every function result among `input` has its call before it in `earlier` or `input`.
/// Errors: kInvalidValue with param `input[i].call_id`.
[[nodiscard]] Result<void> check_function_results(std::span<const ConversationItem> earlier,
                                                  std::span<const ConversationItem> input);

/// Turns items into the messages of a chat; `instructions`, unless null, become a leading system
/// message. Calls that follow one another, or an assistant message, are one assistant turn.
[[nodiscard]] std::vector<Message> to_messages(const std::string* instructions,
                                               std::span<const ConversationItem> items);

}  // namespace paceline::openai
