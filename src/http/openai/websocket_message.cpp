#include "http/openai/websocket_message.h"

#include <algorithm>
#include <utility>

namespace paceline::openai {
namespace {

using Content = std::variant<CreateMessage, CancelMessage>;

/// Reads `stream_id`; sets it on the message as soon as it is known to be good.
void read_stream_id(FieldReader& reader, ClientMessage& message) {
  const auto value = reader.value("stream_id");
  if (!value) return;
  if (!value->is_string() || !is_valid_stream_id(value->text())) {
    return reader.fail(ErrorCode::kInvalidStreamId, "stream_id",
                       "stream_id must be 1 to 256 of A-Z, a-z, 0-9, _, . and -");
  }
  message.stream_id = std::string(value->text());
}

CreateMessage read_create(FieldReader& reader, const ParseContext& context) {
  CreateMessage message;
  for (const std::string_view name : {"stream", "background", "stream_options"}) {
    reader.refuse(name);
  }
  message.generate = reader.boolean("generate").value_or(true);
  message.include_rate_limits = reader.boolean("include_rate_limits").value_or(false);
  message.request = read_response_fields(reader, context);
  message.request.fields.ignored = take_ignored(reader, context);
  return message;
}

Content read_content_of(FieldReader& reader, const ParseContext& context) {
  const std::string type = reader.required_string("type");
  if (type == "response.create") return read_create(reader, context);
  CancelMessage cancel;
  if (type == "response.cancel") {
    cancel.response_id = reader.string("response_id", 1);
    if (context.strict_fields) reader.refuse_unread();
  } else {
    reader.fail(ErrorCode::kInvalidValue, "type",
                "type must be response.create or response.cancel");
  }
  return cancel;
}

}  // namespace

bool is_valid_stream_id(std::string_view text) {
  constexpr std::size_t kMaxLength = 256;
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !text.empty() && text.size() <= kMaxLength &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

ClientMessage parse_client_message(std::string_view text, const ParseContext& context) {
  ClientMessage message{.stream_id = std::nullopt, .content = CancelMessage{}};
  const auto document = JsonDocument::parse_object(text, context.json);
  if (!document) {
    message.content = tl::unexpected(document.error());
    return message;
  }
  FieldReader reader(document->root(), "");
  read_stream_id(reader, message);
  Content content = read_content_of(reader, context);
  if (const auto result = reader.result(); !result) {
    message.content = tl::unexpected(result.error());
  } else {
    message.content = std::move(content);
  }
  return message;
}

}  // namespace paceline::openai
