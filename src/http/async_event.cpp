#include "http/async_event.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace paceline {

void AsyncEvent::notify() {
  is_notified_ = true;
  timer_.cancel();
}

boost::asio::awaitable<bool> AsyncEvent::wait_until(TimePoint deadline) {
  if (!is_notified_) {
    timer_.expires_at(deadline);
    boost::system::error_code ignored;  // cancelled or expired: the flag tells which
    co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  co_return std::exchange(is_notified_, false);
}

}  // namespace paceline
