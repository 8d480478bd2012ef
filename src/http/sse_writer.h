#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

class HttpExchange;

/// An answer as server-sent events, one event per HTTP chunk (API.md §3.5). Events gather until
/// flush(); the first flush sends the head. On the connection's strand.
class SseWriter {
 public:
  explicit SseWriter(HttpExchange& exchange) : exchange_(exchange) {}

  /// Adds an event. Requires: `json` is on one line.
  void event(std::string_view json);
  /// Adds an event with a type line.
  void event(std::string_view type, std::string_view json);
  /// Adds a comment, which keeps the connection alive. Requires: `text` is on one line.
  void comment(std::string_view text);

  /// Sends what was added. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> flush();
  /// Adds `[DONE]`, sends everything and ends the answer. False: the client is gone.
  [[nodiscard]] boost::asio::awaitable<bool> finish();

  /// Whether the head is sent: from then on failures are told in the stream.
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  [[nodiscard]] std::size_t pending_bytes() const { return pending_bytes_; }

 private:
  void add(std::string piece);

  HttpExchange& exchange_;
  std::vector<std::string> pending_;
  std::size_t pending_bytes_ = 0;
  bool has_begun_ = false;
};

}  // namespace paceline
