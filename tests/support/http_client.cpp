#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace paceline {

namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

/// Makes received() hold at least one more line from `begin` on; npos when there is none.
std::size_t line_end(RawConnection& connection, std::size_t begin) {
  while (true) {
    const std::size_t end = connection.received().find("\r\n", begin);
    if (end != std::string::npos) return end;
    if (!connection.read_at_least(connection.received().size() + 1)) return std::string::npos;
  }
}

bool read_chunks(RawConnection& connection, HttpReply& reply) {
  while (true) {
    const std::size_t end = line_end(connection, 0);
    if (end == std::string::npos) return false;
    const std::size_t size = std::stoul(connection.take(end + 2), nullptr, 16);
    if (!connection.read_at_least(size + 2)) return false;
    std::string chunk = connection.take(size + 2);
    chunk.resize(size);
    if (size == 0) return true;
    reply.body += chunk;
    reply.chunks.push_back(std::move(chunk));
  }
}

}  // namespace

RawConnection::RawConnection(std::uint16_t port, int receive_buffer)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect: " + std::string(std::strerror(errno)));
  }
}

RawConnection::~RawConnection() {
  if (socket_ >= 0) ::close(socket_);
}

RawConnection::RawConnection(RawConnection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)),
      is_closed_(other.is_closed_) {}

bool RawConnection::send(std::string_view bytes) {
  const auto deadline = Clock::now() + kPatience;
  while (!bytes.empty()) {
    pollfd ready{socket_, POLLOUT, 0};
    if (::poll(&ready, 1, milliseconds_until(deadline)) <= 0) return false;
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawConnection::receive(Clock::time_point deadline) {
  pollfd ready{socket_, POLLIN, 0};
  if (is_closed_ || ::poll(&ready, 1, milliseconds_until(deadline)) <= 0) return false;
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) {
    is_closed_ = true;
    return false;
  }
  received_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool RawConnection::read_until(std::string_view text) {
  const auto deadline = Clock::now() + kPatience;
  while (received_.find(text) == std::string::npos) {
    if (!receive(deadline)) return false;
  }
  return true;
}

bool RawConnection::read_at_least(std::size_t size) {
  const auto deadline = Clock::now() + kPatience;
  while (received_.size() < size) {
    if (!receive(deadline)) return false;
  }
  return true;
}

std::string RawConnection::read_to_end() {
  const auto deadline = Clock::now() + kPatience;
  while (receive(deadline)) {
  }
  return std::exchange(received_, {});
}

bool RawConnection::is_closed_within(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (receive(deadline)) {
  }
  return is_closed_;
}

std::string RawConnection::take(std::size_t size) {
  std::string front = received_.substr(0, size);
  received_.erase(0, size);
  return front;
}

void RawConnection::finish_sending() { ::shutdown(socket_, SHUT_WR); }

void RawConnection::reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(std::exchange(socket_, -1));
  is_closed_ = true;
}

std::string HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

bool HttpReply::has_header(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [name](const auto& header) { return header.first == name; });
}

std::vector<std::string> HttpReply::events() const {
  std::vector<std::string> events;
  std::string_view rest = body;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view event = rest.substr(0, end);
    const std::size_t data = event.find("data: ");
    if (!event.starts_with(":") && data != std::string_view::npos) {
      events.emplace_back(event.substr(data + 6));
    }
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return events;
}

HttpReply read_reply(RawConnection& connection, bool has_body) {
  HttpReply reply;
  if (!connection.read_until("\r\n\r\n")) return reply;
  std::size_t begin = 0;
  std::size_t end = connection.received().find("\r\n");
  reply.status = std::stoi(connection.received().substr(9, 3));
  for (begin = end + 2; connection.received().compare(begin, 2, "\r\n") != 0; begin = end + 2) {
    end = connection.received().find("\r\n", begin);
    const std::string line = connection.received().substr(begin, end - begin);
    const std::size_t colon = line.find(": ");
    reply.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  static_cast<void>(connection.take(begin + 2));
  if (!has_body || reply.status == 204 || reply.status < 200) {
    reply.is_complete = true;
  } else if (reply.header("transfer-encoding") == "chunked") {
    reply.is_complete = read_chunks(connection, reply);
  } else if (reply.has_header("content-length")) {
    const std::size_t size = std::stoul(reply.header("content-length"));
    reply.is_complete = connection.read_at_least(size);
    reply.body = connection.take(size);
  } else {
    reply.body = connection.read_to_end();
    reply.is_complete = true;
  }
  return reply;
}

std::string make_request(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view headers) {
  std::string request(method);
  request.append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n").append(headers);
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return request.append("\r\n").append(body);
}

HttpReply fetch(std::uint16_t port, std::string_view method, std::string_view target,
                std::string_view body, std::string_view headers) {
  RawConnection connection(port);
  connection.send(make_request(method, target, body, headers));
  return read_reply(connection, method != "HEAD");
}

}  // namespace paceline
