#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "engine/request.h"
#include "http/openai/response_object.h"

namespace paceline::openai {

/// Receives one event: its type and its JSON text.
using EventSink = FunctionRef<void(std::string_view type, std::string_view json)>;

/// Drives one response through its events (API.md §5.2), the same over SSE and WebSocket: numbers
/// them, keeps the response object up to date, and adds `stream_id` in a named lane. A text delta
/// costs the escaping of its text. One connection's thread.
class ResponseEvents {
 public:
  struct Options {
    std::string message_id = {};                ///< msg_… of the output message
    std::optional<std::string> stream_id = {};  ///< named lane of a WebSocket
    std::vector<std::string> ignored = {};      ///< shown in response.created
    bool logprobs = false;
    bool include_receipt = false;
    bool has_output = true;  ///< false: prefill only, no output item
  };

  /// `response` is a new one, status kQueued or kInProgress.
  ResponseEvents(ResponseObject response, Options options);

  /// response.created.
  void created(EventSink sink);
  /// response.queued; `position` 1 is next in the own tenant's queue.
  void queued(int position, std::optional<double> estimated_start_ms, EventSink sink);
  /// Events of the engine up to and including the terminal event; `unix_now` becomes completed_at.
  void write(const GenerationEvent& event, std::int64_t unix_now, EventSink sink);
  /// Ends the response without the engine: status kCancelled for kRequestCancelled, else kFailed.
  void fail(const Error& error, std::int64_t unix_now, EventSink sink);

  [[nodiscard]] const ResponseObject& response() const { return response_; }
  [[nodiscard]] bool is_finished() const { return is_final(response_.status); }

 private:
  void on(const RequestStarted& event, std::int64_t unix_now, EventSink sink);
  void on(const PromptLogprobs& event, std::int64_t unix_now, EventSink sink);
  void on(const ChoiceDelta& event, std::int64_t unix_now, EventSink sink);
  void on(const ChoiceFinished& event, std::int64_t unix_now, EventSink sink);
  void on(const RequestFinished& event, std::int64_t unix_now, EventSink sink);
  void on(const RequestFailed& event, std::int64_t unix_now, EventSink sink);

  void open_message(EventSink sink);
  void close_message(std::string_view status, EventSink sink);
  void end(ResponseStatus status, std::int64_t unix_now, EventSink sink);
  /// Starts an event in the buffer: type, lane and number.
  JsonWriter begin_event(std::string_view type);
  void send_item(std::string_view type, EventSink sink);
  void send_part(std::string_view type, EventSink sink);
  void send_response(std::string_view type, EventSink sink);

  ResponseObject response_;
  Options options_;
  std::optional<FinishReason> finish_reason_;
  std::string delta_head_;  // members of a text delta before `delta`
  std::int64_t sequence_number_ = 0;
  std::vector<TokenLogprobText> pending_logprobs_;  // wait for the next text
  std::string buffer_;
};

}  // namespace paceline::openai
