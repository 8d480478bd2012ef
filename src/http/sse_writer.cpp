#include "http/sse_writer.h"

#include <utility>

#include "http/http_exchange.h"
#include "http/http_message.h"

namespace paceline {

namespace asio = boost::asio;

void SseWriter::event(std::string_view json) {
  std::string piece;
  piece.reserve(json.size() + 8);
  piece.append("data: ").append(json).append("\n\n");
  add(std::move(piece));
}

void SseWriter::event(std::string_view type, std::string_view json) {
  std::string piece;
  piece.reserve(type.size() + json.size() + 16);
  piece.append("event: ").append(type).append("\ndata: ").append(json).append("\n\n");
  add(std::move(piece));
}

void SseWriter::comment(std::string_view text) {
  std::string piece = ": ";
  piece.append(text).append("\n\n");
  add(std::move(piece));
}

asio::awaitable<bool> SseWriter::flush() {
  if (!has_begun_) {
    has_begun_ = true;
    HttpResponse head;
    head.headers.push_back({"content-type", "text/event-stream"});
    head.headers.push_back({"cache-control", "no-cache"});
    head.headers.push_back({"x-accel-buffering", "no"});
    const bool sent = co_await exchange_.begin_stream(std::move(head));
    if (!sent) co_return false;
  }
  if (pending_.empty()) co_return true;
  pending_bytes_ = 0;
  std::vector<std::string> pieces = std::exchange(pending_, {});
  const bool sent = co_await exchange_.write_stream(std::move(pieces));
  co_return sent;
}

asio::awaitable<bool> SseWriter::finish() {
  event("[DONE]");
  const bool sent = co_await flush();
  if (sent) co_await exchange_.end_stream();
  co_return sent;
}

void SseWriter::add(std::string piece) {
  pending_bytes_ += piece.size();
  pending_.push_back(std::move(piece));
}

}  // namespace paceline
