#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "http/async_event.h"
#include "http/connection_output.h"

namespace paceline {

class HttpMetrics;
struct HttpOptions;

/// Why a connection can deliver nothing more.
enum class ConnectionEnd {
  kPeer,        ///< FIN, RST or a failed write
  kSlowReader,  ///< http.slow_reader_timeout
  kServer,      ///< closed from this side
};

/// How urgently the server wants a connection to end.
enum class StopKind {
  kGoingAway,  ///< after what is under way
  kNow,
};

/// A client's TCP connection: reading with deadlines, writing with a limit on how long a reader may
/// stall, and noticing that the client has left while an answer is being made. Reading never has to
/// be cancelled: a read that is under way when nobody waits becomes the next one's. Owned by its
/// session's coroutine (and by operations under way); confined to its strand, except stop().
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class ReadStatus { kData, kEnd, kTimeout };
  /// Whether a wait for bytes ends when the server stops.
  enum class WhenStopping { kContinue, kEnd };

  /// `socket` runs on its own strand.
  Connection(Socket socket, const HttpOptions& options, HttpMetrics& metrics);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return executor_; }
  /// Address without port; empty when it was gone before it could be asked.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] bool is_peer_loopback() const { return is_peer_loopback_; }

  /// Bytes received and not yet used.
  [[nodiscard]] std::string& input() { return input_; }
  /// Waits until input() has grown. kEnd: the client sent FIN or the connection is closed.
  [[nodiscard]] boost::asio::awaitable<ReadStatus> read_more(
      TimePoint deadline, WhenStopping when = WhenStopping::kContinue);
  /// Reads on in the background, up to a bound, and calls `on_gone` once when the client leaves; at
  /// once when it has left. An empty function ends the watch.
  void watch(std::function<void()> on_gone);
  [[nodiscard]] bool is_peer_gone() const { return is_read_closed_ || end_.has_value(); }

  /// Sends everything. False: the connection is closed (end() says why).
  [[nodiscard]] boost::asio::awaitable<bool> write(std::string bytes);
  /// Undelivered output of this connection, shared with its streams.
  [[nodiscard]] const std::shared_ptr<ConnectionOutput>& output() const { return output_; }
  [[nodiscard]] std::optional<ConnectionEnd> end() const { return end_; }

  /// Closes the sending side, gives the client a moment to take what was sent, then closes. For
  /// answers after which unread bytes may be left.
  [[nodiscard]] boost::asio::awaitable<void> linger_and_close();
  void close(ConnectionEnd reason);

  /// Gives the socket to a handler that speaks another protocol; input() keeps what was received.
  /// `on_stop` is called on the strand when the server ends: once with kGoingAway, and with kNow
  /// when its patience is over. Requires: nothing is watched or written.
  [[nodiscard]] Socket release_socket(std::function<void(StopKind)> on_stop);

  [[nodiscard]] bool is_stopping() const { return is_stopping_; }
  /// kGoingAway: ends an idle connection, another one after its answer. kNow: closes. Any thread.
  void stop(StopKind kind);

 private:
  void start_read();
  void on_readable(const boost::system::error_code& error);
  void note_gone();
  void start_write_wait();
  [[nodiscard]] bool has_stalled_too_long(TimePoint now);

  Socket socket_;
  const boost::asio::any_io_executor executor_;
  const HttpOptions& options_;
  HttpMetrics& metrics_;
  std::string peer_;
  bool is_peer_loopback_ = false;
  std::shared_ptr<ConnectionOutput> output_;

  std::string input_;
  AsyncEvent input_changed_;
  bool is_reading_ = false;
  bool is_read_closed_ = false;
  std::function<void()> on_gone_;

  AsyncEvent writable_;
  bool is_waiting_to_write_ = false;
  std::optional<TimePoint> paused_since_;

  std::optional<ConnectionEnd> end_;
  std::function<void(StopKind)> on_stop_;
  bool is_stopping_ = false;
};

}  // namespace paceline
