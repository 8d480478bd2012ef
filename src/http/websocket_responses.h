#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "http/conversation_cache.h"
#include "http/http_exchange.h"
#include "http/openai/websocket_message.h"
#include "http/request_log.h"
#include "http/response_run.h"
#include "http/websocket_lanes.h"

namespace paceline {

class Connection;
struct ServerContext;

/// What the responses of a WebSocket need of the session they belong to.
class WebsocketHost {
 public:
  virtual ~WebsocketHost() = default;
  /// Runs a coroutine that the session outlives.
  virtual void spawn(boost::asio::awaitable<void> task) = 0;
  /// Sends a message when there is room. False: the connection ends.
  [[nodiscard]] virtual boost::asio::awaitable<bool> send(std::string message) = 0;
  /// A message of the client was refused.
  virtual void on_refusal() = 0;
  /// A response has ended.
  virtual void on_response_end() = 0;
};

/// The responses of one WebSocket: takes the client's messages, queues creates in lanes, runs those
/// whose turn it is, and keeps finished conversations for the next one (API.md §5.3). Owned by the
/// session; confined to its strand.
class WebsocketResponses {
 public:
  /// `connection` and `host` outlive it. `request_id` is that of the handshake.
  WebsocketResponses(ServerContext& context, Connection& connection, Principal principal,
                     std::string request_id, WebsocketHost& host);

  /// Serves one message; returns when it has been queued, refused or done.
  [[nodiscard]] boost::asio::awaitable<void> on_message(std::string text);
  /// Refuses further creates: the connection's life is over.
  void refuse_creates() { is_life_over_ = true; }
  /// Starts nothing more and cancels what runs.
  void end(CancelCause cause);

  [[nodiscard]] bool is_idle() const { return lanes_.is_idle(); }
  /// Lanes used so far.
  [[nodiscard]] std::size_t num_lanes() const { return lanes_.num_lanes(); }

 private:
  /// A lane's create between its start and its end.
  struct ActiveCreate {
    ResponseRun* run = nullptr;  // null while it is prepared
    bool is_cancelled = false;
  };

  boost::asio::awaitable<openai::ClientMessage> parse(std::string text);
  boost::asio::awaitable<void> on_create(LaneName lane, openai::CreateMessage message,
                                         std::size_t bytes);
  boost::asio::awaitable<void> on_cancel(LaneName lane, openai::CancelMessage message);
  boost::asio::awaitable<bool> cancel_lane(LaneName lane);
  void start_ready();
  boost::asio::awaitable<void> run_create(QueuedCreate create);
  boost::asio::awaitable<Result<std::unique_ptr<ResponseRun>>> start_run(QueuedCreate& create,
                                                                         RequestLog& log);
  boost::asio::awaitable<void> send_frames(ResponseRun& run, const QueuedCreate& create,
                                           RequestLog& log);
  Result<std::shared_ptr<const Conversation>> find_conversation(const std::string& id);
  /// Answers with an error frame and writes the log's line.
  boost::asio::awaitable<void> refuse(LaneName lane, Error error, RequestLog log);
  [[nodiscard]] RequestLog make_log(const LaneName& lane, TimePoint started_at) const;

  ServerContext& context_;
  Connection& connection_;
  const Principal principal_;
  const std::string request_id_;
  WebsocketHost& host_;
  WebsocketLanes lanes_;
  std::map<LaneName, ActiveCreate> active_;
  ConversationCache conversations_;
  bool is_life_over_ = false;
  std::optional<CancelCause> end_cause_;  // set once nothing more is started
};

}  // namespace paceline
