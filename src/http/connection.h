#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/output_stream.h"
#include "http/async_event.h"

namespace paceline {

class HttpMetrics;
struct HttpOptions;

/// Why a connection can deliver nothing more.
enum class ConnectionEnd {
  kPeer,        ///< FIN, RST or a failed write
  kSlowReader,  ///< http.slow_reader_timeout
  kServer,      ///< closed from this side
};

/// A client's TCP connection: reading with deadlines, writing with a limit on how long a reader may
/// stall, and noticing that the client has left while an answer is being made. Reading never has to
/// be cancelled: a read that is under way when nobody waits becomes the next one's. Owned by its
/// session's coroutine (and by operations under way); confined to its strand, except stop().
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class ReadStatus { kData, kEnd, kTimeout };

  /// `socket` runs on its own strand.
  Connection(Socket socket, const HttpOptions& options, HttpMetrics& metrics);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Socket::executor_type executor() { return socket_.get_executor(); }
  /// Address without port; empty when it was gone before it could be asked.
  [[nodiscard]] const std::string& peer() const { return peer_; }
  [[nodiscard]] bool is_peer_loopback() const { return is_peer_loopback_; }

  /// Bytes received and not yet used.
  [[nodiscard]] std::string& input() { return input_; }
  /// Waits until input() has grown. kEnd: the client sent FIN or the connection is closed.
  [[nodiscard]] boost::asio::awaitable<ReadStatus> read_more(TimePoint deadline);
  /// Reads on in the background, up to a bound, and calls `on_gone` once when the client leaves; at
  /// once when it has left. An empty function ends the watch.
  void watch(std::function<void()> on_gone);
  [[nodiscard]] bool is_peer_gone() const { return is_read_closed_ || end_.has_value(); }

  /// Sends everything. False: the connection is closed (end() says why).
  [[nodiscard]] boost::asio::awaitable<bool> write(std::string bytes);
  /// Undelivered output of this connection, shared with its streams.
  [[nodiscard]] const std::shared_ptr<OutputBudget>& budget() const { return budget_; }
  [[nodiscard]] std::optional<ConnectionEnd> end() const { return end_; }

  /// Closes the sending side, gives the client a moment to take what was sent, then closes. For
  /// answers after which unread bytes may be left.
  [[nodiscard]] boost::asio::awaitable<void> linger_and_close();
  void close(ConnectionEnd reason);

  /// Gives the socket to a handler that speaks another protocol; input() keeps what was received.
  /// Requires: no read is under way.
  [[nodiscard]] Socket release_socket();

  /// The server wants to end: `on_stop` is called on the strand, once, at once when it already
  /// does.
  void set_stop_callback(std::function<void()> on_stop);
  [[nodiscard]] bool is_stopping() const { return is_stopping_; }
  /// Marks the connection as ending and calls the callback. Any thread.
  void stop();
  /// Closes at once. Any thread.
  void abort();

 private:
  void start_read();
  void on_read(const boost::system::error_code& error, std::size_t num_bytes);
  void notify_gone();
  [[nodiscard]] bool has_stalled_too_long(TimePoint now);

  Socket socket_;
  const HttpOptions& options_;
  HttpMetrics& metrics_;
  std::string peer_;
  bool is_peer_loopback_ = false;
  std::shared_ptr<OutputBudget> budget_;

  std::string input_;
  std::string read_buffer_;
  AsyncEvent input_changed_;
  bool is_reading_ = false;
  bool is_read_closed_ = false;
  std::function<void()> on_gone_;

  boost::asio::steady_timer write_timer_;
  std::optional<TimePoint> paused_since_;

  std::optional<ConnectionEnd> end_;
  std::function<void()> on_stop_;
  bool is_stopping_ = false;
};

}  // namespace paceline
