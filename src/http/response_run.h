#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "engine/request.h"
#include "http/conversation_cache.h"
#include "http/openai/response_events.h"
#include "http/openai/response_request.h"
#include "http/request_log.h"
#include "http/response_store.h"
#include "http/service_state.h"

namespace paceline {

class Connection;
class GenerationStream;
struct ServerContext;

/// A create that has been parsed, on its way into the engine.
struct ResponsePlan {
  TenantId tenant{};
  Transport transport = Transport::kHttp;
  openai::ResponseRequest request;
  /// The conversation of `previous_response_id`; null without one.
  std::shared_ptr<const Conversation> earlier = {};
  std::optional<std::string> stream_id = {};  ///< named lane of a WebSocket
  bool generate = true;                       ///< false: prefill only
  std::optional<std::chrono::milliseconds> timeout = {};
  TimePoint accepted_at{};
  int priority = 0;
};

/// One event of a response, ready to be framed.
struct ResponseFrame {
  std::string_view type;
  std::string json;
};

/// One response in the engine, on its connection's strand: turns engine events into response
/// events, tells the client where it stands in the queue, and keeps store and log up to date. Owned
/// by the coroutine that sends the events. A run that is destroyed early cancels its request.
class ResponseRun {
 public:
  struct Parts {
    std::unique_ptr<GenerationStream> stream;
    openai::ResponseObject response;
    openai::ResponseEvents::Options options;
    Conversation conversation;  ///< up to and including the input
    bool is_kept = true;
    TenantId tenant{};
  };
  /// `log` outlives the run.
  ResponseRun(ServerContext& context, Parts parts, RequestLog& log);
  ~ResponseRun();
  ResponseRun(const ResponseRun&) = delete;
  ResponseRun& operator=(const ResponseRun&) = delete;

  /// Makes the response known: response.created is the next frame. Otherwise that happens when it
  /// starts, or when it turns out that it has to wait.
  void announce();
  /// Waits for events until `deadline`; returns those that are there, none when it passed or
  /// interrupt() was called.
  [[nodiscard]] boost::asio::awaitable<std::vector<ResponseFrame>> next(TimePoint deadline);
  void interrupt();
  /// Ends the request; the frames of its end still come.
  void cancel(CancelCause cause);
  /// Cancels for a client that can no longer be told, and waits until the engine let go.
  [[nodiscard]] boost::asio::awaitable<void> abandon(CancelCause cause);

  [[nodiscard]] bool is_finished() const;
  /// Why there is no response: it failed before response.created. No frames were made.
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  [[nodiscard]] const openai::ResponseObject& response() const { return events_.response(); }
  /// The whole conversation once the response can be continued; else null.
  [[nodiscard]] const std::shared_ptr<const Conversation>& conversation() const {
    return conversation_;
  }

 private:
  void on_event(const GenerationEvent& event);
  void on_tick();
  void finish();
  auto frame_sink();

  ServerContext& context_;
  std::unique_ptr<GenerationStream> stream_;
  openai::ResponseEvents events_;
  Conversation items_;
  const bool is_kept_;
  const TenantId tenant_;
  RequestLog& log_;
  std::unique_ptr<ResponseStore::Running> stored_;  // from response.created on
  std::shared_ptr<const Conversation> conversation_;
  std::optional<Error> refusal_;
  bool has_started_ = false;
  TimePoint tick_at_;  // while it waits: next time to tell its position
  std::vector<ResponseFrame> frames_;
  std::size_t frame_bytes_ = 0;
};

/// Renders, tokenises and hands a create to the engine. Errors: kModelNotFound, kInvalidValue for a
/// function result without its call, and those of prepare_generation() and start_generation().
[[nodiscard]] boost::asio::awaitable<Result<std::unique_ptr<ResponseRun>>> start_response(
    ServerContext& context, std::shared_ptr<const ServedModel> model, Connection& connection,
    ResponsePlan plan, RequestLog& log);

}  // namespace paceline
