#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "engine/request.h"
#include "http/openai/json_writer.h"
#include "http/openai/response_request.h"

namespace paceline::openai {

enum class ResponseStatus { kQueued, kInProgress, kCompleted, kIncomplete, kFailed, kCancelled };

/// `queued`, `in_progress`, …
[[nodiscard]] std::string_view to_string(ResponseStatus status);
/// Whether nothing more happens to the response.
[[nodiscard]] bool is_final(ResponseStatus status);

/// The message a response consists of; text grows while it is generated.
struct OutputMessage {
  std::string id;  ///< msg_…
  std::string text;
  std::vector<TokenLogprobText> logprobs = {};
  std::string_view status = "in_progress";  ///< in_progress, completed, incomplete
  bool has_part = false;                    ///< its content part has begun
};

/// A response as GET shows it (API.md §5.1, "Response object"). Plain data.
struct ResponseObject {
  std::string id;
  std::int64_t created_at = 0;
  std::optional<std::int64_t> completed_at = {};
  ResponseStatus status = ResponseStatus::kQueued;
  std::optional<Error> error = {};
  std::string model;  ///< canonical id
  std::string echo;   ///< members that repeat the request, from echo_members()
  std::optional<OutputMessage> message = {};
  std::optional<Usage> usage = {};      ///< set with a final status
  std::optional<Receipt> receipt = {};  ///< set when asked for, with a final status
  bool return_token_ids = false;
  std::vector<TokenId> prompt_token_ids = {};
  std::vector<TokenId> output_token_ids = {};
};

/// The members from `previous_response_id` and `instructions` on that repeat the request, as JSON
/// text without the braces; written once per response.
[[nodiscard]] std::string echo_members(const ResponseRequest& request);

/// The value of the output item, and of its one content part.
void write_output_message(JsonWriter& json, const OutputMessage& message);
void write_output_part(JsonWriter& json, const OutputMessage& message);
/// The value of a response; all keys of the contract are present.
void write_response(JsonWriter& json, const ResponseObject& response);
[[nodiscard]] std::string response_json(const ResponseObject& response);

}  // namespace paceline::openai
