#include "http/websocket_stream.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <optional>
#include <utility>

#include "base/check.h"
#include "http/async_event.h"

namespace paceline {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

// Bytes taken from the socket at once.
constexpr std::size_t kReadBytes = 65536;
// For the handshake's answer and for a close handshake that Beast runs on its own.
constexpr std::chrono::seconds kHandshakeTime{5};

/// A socket that Beast does not close. Beast's own way of ending a TCP connection waits for the
/// peer without a limit, or closes with unread bytes, which may destroy the close frame on its way;
/// here only the sending side ends, and WebsocketStream::finish() does the rest.
class HalfClosingSocket : public asio::ip::tcp::socket {
 public:
  explicit HalfClosingSocket(asio::ip::tcp::socket&& socket)
      : asio::ip::tcp::socket(std::move(socket)) {}
};

/// Found by Beast through the argument's type.
template <typename Handler>
void async_teardown(beast::role_type, HalfClosingSocket& socket, Handler&& handler) {
  error_code error;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  asio::post(socket.get_executor(),
             beast::bind_front_handler(std::forward<Handler>(handler), error));
}

/// The close code that Beast answers a failure of the peer with; 0 when it is no such failure.
int code_of(const error_code& error) {
  if (error == websocket::error::message_too_big) return websocket::close_code::too_big;
  if (error == websocket::error::bad_frame_payload) return websocket::close_code::bad_payload;
  if (error == websocket::condition::protocol_violation) {
    return websocket::close_code::protocol_error;
  }
  return 0;
}

/// The handshake reduced to what Beast needs; the rest has been checked and used before.
std::string plain_handshake(std::string_view key) {
  std::string text =
      "GET / HTTP/1.1\r\nhost: paceline\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
      "sec-websocket-version: 13\r\nsec-websocket-key: ";
  text.append(key).append("\r\n\r\n");
  return text;
}

}  // namespace

class WebsocketStream::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Socket socket, std::size_t max_message_bytes, const Clock& clock)
      : stream_(HalfClosingSocket(std::move(socket))),
        clock_(clock),
        last_received_(clock.now()),
        read_done_(stream_.get_executor()),
        write_done_(stream_.get_executor()),
        close_done_(stream_.get_executor()),
        readable_(stream_.get_executor()) {
    stream_.read_message_max(max_message_bytes);
    stream_.auto_fragment(false);
    websocket::stream_base::timeout limits{};
    limits.handshake_timeout = kHandshakeTime;
    limits.idle_timeout = websocket::stream_base::none();
    limits.keep_alive_pings = false;
    stream_.set_option(limits);
    stream_.control_callback(
        [this](websocket::frame_type, beast::string_view) { note_received(); });
  }

  asio::awaitable<bool> accept(std::string_view key, std::string early,
                               std::vector<HttpHeader> headers) {
    stream_.set_option(
        websocket::stream_base::decorator([headers](websocket::response_type& response) {
          response.set(beast::http::field::server, "paceline");
          for (const HttpHeader& header : headers) response.insert(header.name, header.value);
        }));
    handshake_ = plain_handshake(key) + early;
    stream_.async_accept(asio::buffer(handshake_),
                         [self = shared_from_this()](const error_code& error) {
                           self->error_ = error;
                           self->read_done_.notify();
                         });
    co_await read_done_.wait_until(TimePoint::max());
    stream_.text(true);
    co_return !error_;
  }

  asio::awaitable<Message> read() {
    buffer_.clear();
    do {
      start_read();
      co_await read_done_.wait_until(TimePoint::max());
      if (error_) {
        note_end(error_);
        co_return Message{};
      }
      note_received();
    } while (!stream_.is_message_done());
    Message message;
    message.status = stream_.got_binary() ? ReadStatus::kBinary : ReadStatus::kText;
    message.text = beast::buffers_to_string(buffer_.data());
    bytes_received_ += message.text.size();
    if (buffer_.capacity() > kReadBytes) {
      buffer_.clear();
      buffer_.shrink_to_fit();
    }
    co_return message;
  }

  asio::awaitable<WriteStatus> write(std::string text, TimePoint deadline) {
    DCHECK(!is_writing_);
    if (is_lost_) co_return WriteStatus::kClosed;
    is_writing_ = true;
    frame_ = std::move(text);
    stream_.async_write(asio::buffer(frame_),
                        [self = shared_from_this()](const error_code& error, std::size_t) {
                          self->is_writing_ = false;
                          self->write_error_ = error;
                          self->write_done_.notify();
                        });
    const bool done = co_await write_done_.wait_until(deadline);
    if (!done) co_return WriteStatus::kTimeout;
    co_return write_error_ ? WriteStatus::kClosed : WriteStatus::kSent;
  }

  void ping() {
    if (is_pinging_ || is_lost_) return;
    is_pinging_ = true;
    stream_.async_ping({}, [self = shared_from_this()](const error_code&) {
      self->is_pinging_ = false;  // a connection that is lost is noticed by the read
    });
  }

  asio::awaitable<void> close(WebsocketClose code, std::string_view reason, TimePoint deadline) {
    if (!is_lost_) {
      if (close_code_ == 0) close_code_ = static_cast<int>(code);
      const websocket::close_reason close_reason(static_cast<websocket::close_code>(code),
                                                 beast::string_view(reason.data(), reason.size()));
      stream_.async_close(close_reason, [self = shared_from_this()](const error_code&) {
        self->close_done_.notify();  // closed or lost: there is nothing more to do
      });
      const bool done = co_await close_done_.wait_until(deadline);
      if (!done) abort();
    }
  }

  asio::awaitable<void> finish(TimePoint deadline) {
    if (close_code_ == 0) abort();
    Socket& socket = stream_.next_layer();
    while (socket.is_open()) {
      std::array<char, kReadBytes> unread;
      error_code error;
      socket.read_some(asio::buffer(unread), error);
      if (error && error != asio::error::would_block) break;  // FIN or loss: all has arrived
      socket.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code&) {
        self->readable_.notify();  // what there is to read tells more
      });
      const bool readable = co_await readable_.wait_until(deadline);
      if (!readable) break;
    }
    abort();
  }

  void abort() {
    is_lost_ = true;
    error_code ignored;  // nothing more can be done with this socket
    stream_.next_layer().close(ignored);
  }

  TimePoint last_received() const { return last_received_; }
  int close_code() const { return close_code_; }
  std::uint64_t bytes_received() const { return bytes_received_; }

 private:
  void start_read() {
    stream_.async_read_some(buffer_, kReadBytes,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              self->error_ = error;
                              self->read_done_.notify();
                            });
  }

  void note_received() { last_received_ = clock_.now(); }

  void note_end(const error_code& error) {
    is_lost_ = true;
    if (close_code_ != 0) return;
    close_code_ = error == websocket::error::closed ? stream_.reason().code : code_of(error);
  }

  websocket::stream<HalfClosingSocket, false> stream_;
  const Clock& clock_;
  TimePoint last_received_;
  std::string handshake_;

  beast::flat_buffer buffer_;
  AsyncEvent read_done_;
  error_code error_;
  std::uint64_t bytes_received_ = 0;

  std::string frame_;
  AsyncEvent write_done_;
  error_code write_error_;
  bool is_writing_ = false;

  AsyncEvent close_done_;
  AsyncEvent readable_;
  bool is_pinging_ = false;
  bool is_lost_ = false;
  int close_code_ = 0;
};

WebsocketStream::WebsocketStream(Socket socket, std::size_t max_message_bytes, const Clock& clock)
    : impl_(std::make_shared<Impl>(std::move(socket), max_message_bytes, clock)) {}

WebsocketStream::~WebsocketStream() { impl_->abort(); }

asio::awaitable<bool> WebsocketStream::accept(std::string_view key, std::string early,
                                              std::vector<HttpHeader> headers) {
  return impl_->accept(key, std::move(early), std::move(headers));
}

asio::awaitable<WebsocketStream::Message> WebsocketStream::read() { return impl_->read(); }

asio::awaitable<WebsocketStream::WriteStatus> WebsocketStream::write(std::string text,
                                                                     TimePoint deadline) {
  return impl_->write(std::move(text), deadline);
}

void WebsocketStream::ping() { impl_->ping(); }

asio::awaitable<void> WebsocketStream::close(WebsocketClose code, std::string_view reason,
                                             TimePoint deadline) {
  return impl_->close(code, reason, deadline);
}

asio::awaitable<void> WebsocketStream::finish(TimePoint deadline) {
  return impl_->finish(deadline);
}

void WebsocketStream::abort() { impl_->abort(); }
TimePoint WebsocketStream::last_received() const { return impl_->last_received(); }
int WebsocketStream::close_code() const { return impl_->close_code(); }
std::uint64_t WebsocketStream::bytes_received() const { return impl_->bytes_received(); }

}  // namespace paceline
