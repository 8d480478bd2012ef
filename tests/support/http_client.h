#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline {

/// A TCP connection to 127.0.0.1 that sends and reads exactly what a test says. Blocking; every
/// wait ends after `kPatience`, which only a hang can need. One thread.
class RawConnection {
 public:
  static constexpr std::chrono::seconds kPatience{20};

  /// Throws std::runtime_error when nobody listens. `receive_buffer`: SO_RCVBUF, 0 for the
  /// system's.
  explicit RawConnection(std::uint16_t port, int receive_buffer = 0);
  ~RawConnection();
  RawConnection(RawConnection&& other) noexcept;
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;
  RawConnection& operator=(RawConnection&&) = delete;

  /// Sends everything; false when the other side has closed.
  bool send(std::string_view bytes);
  /// Reads until what was received holds `text` (kept), the other side closes or patience ends;
  /// returns whether it is there.
  [[nodiscard]] bool read_until(std::string_view text);
  /// Reads until at least `size` bytes are there.
  [[nodiscard]] bool read_at_least(std::size_t size);
  /// Reads to the end of the connection and returns everything not yet taken.
  [[nodiscard]] std::string read_to_end();
  /// Whether the other side closes within `patience`; bytes before that are kept.
  [[nodiscard]] bool is_closed_within(std::chrono::milliseconds patience);
  /// Takes `size` bytes off the front of what was received.
  [[nodiscard]] std::string take(std::size_t size);
  [[nodiscard]] const std::string& received() const { return received_; }

  /// FIN: nothing more will be sent.
  void finish_sending();
  /// RST.
  void reset();

 private:
  [[nodiscard]] bool receive(std::chrono::steady_clock::time_point deadline);

  int socket_ = -1;
  std::string received_;
  bool is_closed_ = false;
};

/// An HTTP answer as it came.
struct HttpReply {
  int status = 0;  ///< 0: none came
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};                 ///< decoded
  std::vector<std::string> chunks = {};  ///< of a chunked body, the last empty one left out
  bool is_complete = false;

  /// First value of a header, names compared exactly; empty when there is none.
  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] bool has_header(std::string_view name) const;
  /// Data of the body's server-sent events, comments left out.
  [[nodiscard]] std::vector<std::string> events() const;
};

/// Reads the next answer of a connection; `has_body` is false for HEAD.
[[nodiscard]] HttpReply read_reply(RawConnection& connection, bool has_body = true);
/// Builds a request with Host and, when there is a body, Content-Length. `headers`: whole lines
/// with CR LF.
[[nodiscard]] std::string make_request(std::string_view method, std::string_view target,
                                       std::string_view body = "", std::string_view headers = "");
/// Sends one request over a new connection and reads its answer.
[[nodiscard]] HttpReply fetch(std::uint16_t port, std::string_view method, std::string_view target,
                              std::string_view body = "", std::string_view headers = "");

}  // namespace paceline
