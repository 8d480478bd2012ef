#include "tests/support/websocket_client.h"

#include <algorithm>
#include <array>

namespace paceline {
namespace {

constexpr int kText = 1;
constexpr int kClose = 8;

int byte_at(const std::string& bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

void append_size(std::string& out, std::uint64_t size, int num_bytes) {
  for (int i = num_bytes - 1; i >= 0; --i) out += static_cast<char>((size >> (8 * i)) & 0xFF);
}

}  // namespace

std::string client_frame(std::string_view payload, const FrameShape& shape) {
  constexpr std::array<char, 4> kMask{0x12, 0x34, 0x56, 0x78};
  const std::uint64_t size = shape.claimed_size != 0 ? shape.claimed_size : payload.size();
  const int mask_bit = shape.is_masked ? 0x80 : 0;
  std::string frame;
  frame +=
      static_cast<char>((shape.is_final ? 0x80 : 0) | (shape.reserved_bits << 4) | shape.opcode);
  if (size < 126) {
    frame += static_cast<char>(mask_bit | static_cast<int>(size));
  } else if (size < 65536) {
    frame += static_cast<char>(mask_bit | 126);
    append_size(frame, size, 2);
  } else {
    frame += static_cast<char>(mask_bit | 127);
    append_size(frame, size, 8);
  }
  if (!shape.is_masked) return frame.append(payload);
  frame.append(kMask.data(), kMask.size());
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame += static_cast<char>(payload[i] ^ kMask[i % kMask.size()]);
  }
  return frame;
}

std::string handshake_headers() {
  return "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
}

WebsocketClient::WebsocketClient(std::uint16_t port, std::string_view headers, int receive_buffer)
    : connection_(port, receive_buffer) {
  connection_.send(
      make_request("GET", "/v1/responses", "", handshake_headers() + std::string(headers)));
  if (!connection_.read_until("\r\n\r\n")) return;
  if (connection_.received().substr(0, 12) != "HTTP/1.1 101") {
    handshake_ = read_reply(connection_);
    return;
  }
  handshake_.status = 101;
  const std::size_t end = connection_.received().find("\r\n\r\n") + 4;
  handshake_.body = connection_.take(end);
}

void WebsocketClient::send_text(std::string_view text) { connection_.send(client_frame(text)); }

void WebsocketClient::send_frame(std::string_view payload, const FrameShape& shape) {
  connection_.send(client_frame(payload, shape));
}

WebsocketFrame WebsocketClient::read_frame() {
  if (!connection_.read_at_least(2)) return {};
  const int short_size = byte_at(connection_.received(), 1) & 0x7F;
  const std::size_t num_size_bytes = short_size < 126 ? 0 : short_size == 126 ? 2 : 8;
  if (!connection_.read_at_least(2 + num_size_bytes)) return {};
  const std::string head = connection_.take(2 + num_size_bytes);
  std::size_t size = num_size_bytes == 0 ? static_cast<std::size_t>(short_size) : 0;
  for (std::size_t i = 2; i < head.size(); ++i) {
    size = size * 256 + static_cast<std::size_t>(byte_at(head, i));
  }
  if (!connection_.read_at_least(size)) return {};
  WebsocketFrame frame;
  frame.opcode = byte_at(head, 0) & 0x0F;
  frame.is_final = (byte_at(head, 0) & 0x80) != 0;
  frame.payload = connection_.take(size);
  return frame;
}

std::string WebsocketClient::read_text() {
  while (true) {
    WebsocketFrame frame = read_frame();
    if (frame.opcode == kText) return std::move(frame.payload);
    if (frame.opcode < 0 || frame.opcode == kClose) return "";
  }
}

std::vector<std::string> WebsocketClient::read_until_type(const std::vector<std::string>& types) {
  std::vector<std::string> messages;
  while (true) {
    std::string text = read_text();
    if (text.empty()) return messages;
    const std::string type = string_member(text, "type");
    messages.push_back(std::move(text));
    if (std::find(types.begin(), types.end(), type) != types.end()) return messages;
  }
}

std::vector<std::string> WebsocketClient::read_response() {
  return read_until_type({"response.completed", "response.incomplete", "response.failed"});
}

int WebsocketClient::read_close() {
  while (true) {
    const WebsocketFrame frame = read_frame();
    if (frame.opcode < 0) return 0;
    if (frame.opcode != kClose) continue;
    if (frame.payload.size() < 2) return 1005;
    return byte_at(frame.payload, 0) * 256 + byte_at(frame.payload, 1);
  }
}

std::string string_member(std::string_view json, std::string_view name) {
  const std::string start = "\"" + std::string(name) + "\":\"";
  const std::size_t begin = json.find(start);
  if (begin == std::string_view::npos) return "";
  const std::size_t value = begin + start.size();
  return std::string(json.substr(value, json.find('"', value) - value));
}

std::vector<std::string> types_of(const std::vector<std::string>& messages) {
  std::vector<std::string> types;
  for (const std::string& message : messages) types.push_back(string_member(message, "type"));
  return types;
}

std::string joined_deltas(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) {
    if (string_member(message, "type") == "response.output_text.delta") {
      text += string_member(message, "delta");
    }
  }
  return text;
}

}  // namespace paceline
