#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "http/openai/field_reader.h"

namespace paceline::openai {

/// Reads the array `messages` (API.md §3.2). Errors carry the message's path.
[[nodiscard]] std::vector<Message> read_messages(FieldReader& reader);

/// Reads a string or an array of text parts, whose `type` is one of `part_types`, as one text.
/// Errors stand on `path`.
[[nodiscard]] Result<std::string> read_content(JsonValue content, const std::string& path,
                                               std::span<const std::string_view> part_types);

/// JSON text for a call's arguments: the same JSON without white space when `text` is JSON, else
/// `text` as a JSON string.
[[nodiscard]] std::string arguments_json(std::string_view text);

}  // namespace paceline::openai
