#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/http_client.h"

namespace paceline {

/// One frame as it came from the server; opcode -1: none came.
struct WebsocketFrame {
  int opcode = -1;
  bool is_final = true;
  std::string payload = {};
};

/// What may be wrong with a client's frame.
struct FrameShape {
  int opcode = 1;
  bool is_final = true;
  bool is_masked = true;
  int reserved_bits = 0;           ///< 1 … 7; 4 is RSV1
  std::uint64_t claimed_size = 0;  ///< length in the header; 0: the payload's
};

/// Builds a frame of a client.
[[nodiscard]] std::string client_frame(std::string_view payload, const FrameShape& shape = {});

/// Lines of a handshake that is accepted.
[[nodiscard]] std::string handshake_headers();

/// A WebSocket to /v1/responses of a server on loopback, frame by frame. One thread.
class WebsocketClient {
 public:
  /// Connects and shakes hands; `headers`: further lines with CR LF.
  explicit WebsocketClient(std::uint16_t port, std::string_view headers = "",
                           int receive_buffer = 0);

  [[nodiscard]] const HttpReply& handshake() const { return handshake_; }
  [[nodiscard]] RawConnection& connection() { return connection_; }

  void send_text(std::string_view text);
  void send_frame(std::string_view payload, const FrameShape& shape);
  /// The next frame of any kind.
  [[nodiscard]] WebsocketFrame read_frame();
  /// The next text message; pings and pongs are passed over. Empty when the connection ends.
  [[nodiscard]] std::string read_text();
  /// Messages up to and including the first whose type is one of `types`.
  [[nodiscard]] std::vector<std::string> read_until_type(const std::vector<std::string>& types);
  /// Messages up to and including the end of a response.
  [[nodiscard]] std::vector<std::string> read_response();
  /// Reads on to a close frame and returns its code; 1005 without one, 0 when none came.
  [[nodiscard]] int read_close();

 private:
  RawConnection connection_;
  HttpReply handshake_;
};

/// Value of `"type"`, of `"stream_id"` or of any other member that is a string; empty without it.
[[nodiscard]] std::string string_member(std::string_view json, std::string_view name);
/// Types of messages, in their order.
[[nodiscard]] std::vector<std::string> types_of(const std::vector<std::string>& messages);
/// Joined deltas of the messages, which must not need escapes.
[[nodiscard]] std::string joined_deltas(const std::vector<std::string>& messages);

}  // namespace paceline
