#include "http/websocket_outbox.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace paceline {

namespace asio = boost::asio;

namespace {

asio::awaitable<void> wait_for_change(asio::steady_timer& timer) {
  boost::system::error_code ignored;  // cancelled: that is the change
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace

WebsocketOutbox::WebsocketOutbox(const asio::any_io_executor& executor, std::size_t max_bytes)
    : max_bytes_(max_bytes), changed_(executor, asio::steady_timer::time_point::max()) {}

asio::awaitable<bool> WebsocketOutbox::push(std::string message) {
  while (!is_closed_ && bytes_ >= max_bytes_) co_await wait_for_change(changed_);
  if (is_closed_) co_return false;
  bytes_ += message.size();
  messages_.push_back(std::move(message));
  changed_.cancel();
  co_return true;
}

asio::awaitable<std::optional<std::string>> WebsocketOutbox::pop() {
  while (!is_closed_ && messages_.empty()) co_await wait_for_change(changed_);
  std::optional<std::string> message;
  if (!messages_.empty()) {
    message = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= message->size();
    changed_.cancel();
  }
  co_return message;
}

void WebsocketOutbox::close() {
  is_closed_ = true;
  changed_.cancel();
}

void WebsocketOutbox::discard() {
  messages_.clear();
  bytes_ = 0;
  close();
}

}  // namespace paceline
