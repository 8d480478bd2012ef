#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/http_message.h"

namespace paceline {

/// Close codes of RFC 6455 §7.4.1 that the server sends.
enum class WebsocketClose : std::uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kBinary = 1003,
  kNotUtf8 = 1007,
  kPolicy = 1008,
  kTooBig = 1009,
  kInternalError = 1011,
};

/// One WebSocket: handshake, messages, pings and close over a connected socket; frames by Beast,
/// which also answers pings between fragments. No extension is negotiated. A read and a write may
/// be under way at the same time; what the peer does not take is given up at a deadline. Confined
/// to the socket's strand; operations under way keep it alive.
class WebsocketStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  enum class ReadStatus { kText, kBinary, kClosed };
  enum class WriteStatus { kSent, kTimeout, kClosed };
  struct Message {
    ReadStatus status = ReadStatus::kClosed;
    std::string text = {};
  };

  /// Bytes that a client may have sent between its handshake and the answer.
  static constexpr std::size_t kMaxEarlyBytes = 512;

  WebsocketStream(Socket socket, std::size_t max_message_bytes, const Clock& clock);
  ~WebsocketStream();
  WebsocketStream(const WebsocketStream&) = delete;
  WebsocketStream& operator=(const WebsocketStream&) = delete;

  /// Answers a handshake that has been checked, with `headers` added. `early` came after its head.
  /// False: the connection is lost. Requires: early.size() <= kMaxEarlyBytes.
  [[nodiscard]] boost::asio::awaitable<bool> accept(std::string_view key, std::string early,
                                                    std::vector<HttpHeader> headers);
  /// Waits for a whole message. kClosed: closed by either side, lost, or a protocol error, which
  /// has been answered with its close code.
  [[nodiscard]] boost::asio::awaitable<Message> read();
  /// Sends a text message. kTimeout: the peer has not taken it by `deadline`; nothing more can be
  /// sent then but a close.
  [[nodiscard]] boost::asio::awaitable<WriteStatus> write(std::string text, TimePoint deadline);
  /// Sends a ping unless one is still under way.
  void ping();
  /// Sends a close frame and waits for the peer's until `deadline`.
  [[nodiscard]] boost::asio::awaitable<void> close(WebsocketClose code, std::string_view reason,
                                                   TimePoint deadline);
  /// Closes the socket after read() has returned kClosed. After a close frame the peer has until
  /// `deadline` to close its side: closing with unread bytes could destroy what was sent.
  [[nodiscard]] boost::asio::awaitable<void> finish(TimePoint deadline);
  /// Closes the socket at once.
  void abort();

  /// Last time that anything came from the peer.
  [[nodiscard]] TimePoint last_received() const;
  /// Code the connection was closed with, by either side; 0: open, or lost without a close.
  [[nodiscard]] int close_code() const;
  [[nodiscard]] std::uint64_t bytes_received() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline
