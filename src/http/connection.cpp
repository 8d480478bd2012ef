#include "http/connection.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <new>
#include <utility>

#include "http/http_options.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Largest piece taken from the socket at once.
constexpr std::size_t kReadBytes = 16384;
// Pipelined bytes kept while an answer is being made. A client that sends more is read again after
// its answer; until then only a failed write tells that it left.
constexpr std::size_t kMaxWatchedInput = 65536;
// How long a client may take to read the last answer after the sending side was closed.
constexpr std::chrono::seconds kLingerTime{2};

}  // namespace

Connection::Connection(Socket socket, const HttpOptions& options, HttpMetrics& metrics)
    : socket_(std::move(socket)),
      executor_(socket_.get_executor()),
      options_(options),
      metrics_(metrics),
      output_(std::make_shared<ConnectionOutput>(options.write_buffer_bytes)),
      input_changed_(executor_),
      writable_(executor_) {
  error_code error;
  socket_.non_blocking(true, error);
  if (!error) socket_.set_option(asio::ip::tcp::no_delay(true), error);
  const auto remote = socket_.remote_endpoint(error);
  if (error) return;  // the first read or write finds out
  peer_ = remote.address().to_string();
  is_peer_loopback_ = remote.address().is_loopback();
}

asio::awaitable<Connection::ReadStatus> Connection::read_more(TimePoint deadline,
                                                              WhenStopping when) {
  const std::size_t size = input_.size();
  while (input_.size() == size) {
    if (is_peer_gone()) co_return ReadStatus::kEnd;
    if (is_stopping_ && when == WhenStopping::kEnd) co_return ReadStatus::kEnd;
    start_read();
    const bool notified = co_await input_changed_.wait_until(deadline);
    if (!notified) co_return ReadStatus::kTimeout;
  }
  co_return ReadStatus::kData;
}

void Connection::watch(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  if (!on_gone_) return;
  if (is_peer_gone()) {
    note_gone();
  } else if (input_.size() < kMaxWatchedInput) {
    start_read();
  }
}

void Connection::start_read() {
  if (is_reading_ || is_peer_gone()) return;
  is_reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& error) {
    try {
      self->on_readable(error);
    } catch (const std::bad_alloc&) {
      self->close(ConnectionEnd::kServer);  // ends this connection only
    }
  });
}

void Connection::on_readable(const error_code& error) {
  is_reading_ = false;
  if (end_) return;
  error_code read_error = error;
  if (!read_error) {
    std::array<char, kReadBytes> bytes;
    const std::size_t count = socket_.read_some(asio::buffer(bytes), read_error);
    input_.append(bytes.data(), count);
  }
  if (read_error && read_error != asio::error::would_block &&
      read_error != asio::error::try_again) {
    is_read_closed_ = true;
    note_gone();
  }
  input_changed_.notify();
  if (on_gone_ && input_.size() < kMaxWatchedInput) start_read();
}

void Connection::note_gone() {
  if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

asio::awaitable<bool> Connection::write(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    if (end_) co_return false;
    error_code error;
    const std::size_t count = socket_.write_some(asio::buffer(rest), error);
    rest.remove_prefix(count);
    metrics_.response_bytes.add(static_cast<double>(count));
    if (error && error != asio::error::would_block && error != asio::error::try_again) {
      close(ConnectionEnd::kPeer);
      co_return false;
    }
    if (rest.empty()) break;
    start_write_wait();
    const TimePoint now = std::chrono::steady_clock::now();
    const bool stalled = has_stalled_too_long(now);
    bool writable = false;
    if (!stalled) writable = co_await writable_.wait_until(now + options_.slow_reader_timeout);
    if (!writable && !end_) {
      metrics_.timeouts[HttpTimeout::kSlowReader].add();
      close(ConnectionEnd::kSlowReader);
    }
  }
  if (!output_->budget()->is_over_limit()) paused_since_.reset();
  co_return !end_.has_value();
}

void Connection::start_write_wait() {
  if (is_waiting_to_write_ || end_) return;
  is_waiting_to_write_ = true;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code&) {
    self->is_waiting_to_write_ = false;
    self->writable_.notify();
  });
}

bool Connection::has_stalled_too_long(TimePoint now) {
  if (!output_->budget()->is_over_limit()) {
    paused_since_.reset();
    return false;
  }
  if (!paused_since_) paused_since_ = now;
  return now - *paused_since_ >= options_.slow_reader_timeout;
}

asio::awaitable<void> Connection::linger_and_close() {
  if (!end_ && !is_read_closed_) {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    const TimePoint deadline = std::chrono::steady_clock::now() + kLingerTime;
    ReadStatus status = error ? ReadStatus::kEnd : ReadStatus::kData;
    while (status == ReadStatus::kData && std::chrono::steady_clock::now() < deadline) {
      input_.clear();
      status = co_await read_more(deadline);
    }
  }
  close(ConnectionEnd::kServer);
}

void Connection::close(ConnectionEnd reason) {
  if (end_) return;
  end_ = reason;
  error_code ignored;  // nothing more can be done with this socket
  socket_.close(ignored);
  note_gone();
  input_changed_.notify();
  writable_.notify();
}

Connection::Socket Connection::release_socket(std::function<void(StopKind)> on_stop) {
  on_stop_ = std::move(on_stop);
  end_ = ConnectionEnd::kServer;
  if (is_reading_) {
    error_code ignored;  // a wait that cannot be cancelled ends with the socket
    socket_.cancel(ignored);
  }
  if (is_stopping_) {
    asio::post(executor_, [self = shared_from_this()] {
      if (self->on_stop_) self->on_stop_(StopKind::kGoingAway);
    });
  }
  return std::move(socket_);
}

void Connection::stop(StopKind kind) {
  asio::post(executor_, [self = shared_from_this(), kind] {
    self->is_stopping_ = true;
    if (self->on_stop_) {
      self->on_stop_(kind);
    } else if (kind == StopKind::kNow) {
      self->close(ConnectionEnd::kServer);
    } else {
      self->input_changed_.notify();
    }
  });
}

}  // namespace paceline
