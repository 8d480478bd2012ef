#include "http/server.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "http/connection.h"
#include "http/connection_registry.h"
#include "http/handlers/handler_table.h"
#include "http/http_session.h"
#include "http/response_store.h"
#include "http/router.h"
#include "http/server_context.h"
#include "http/worker_queue.h"
#include "metrics/http_metrics.h"

namespace paceline {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Connections above the bound that are being told so; further ones are closed without a word.
constexpr std::size_t kMaxRefusals = 64;
// Pause after accept() failed, usually for want of file descriptors.
constexpr std::chrono::milliseconds kAcceptRetry{100};
// For connections to notice that they were closed; they only run short code then.
constexpr std::chrono::seconds kAbortTime{10};

Result<tcp::endpoint> parse_endpoint(const HttpOptions& options) {
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) {
    return fail(ErrorCode::kBadConfig, "http.host: " + options.host + " is not an IP address");
  }
  if (!address.is_loopback()) {
    return fail(ErrorCode::kBadConfig, "http.host: " + options.host +
                                           " is not a loopback address; serving others needs keys");
  }
  return tcp::endpoint(address, options.port);
}

}  // namespace

std::span<const std::string_view> http_route_labels() { return route_labels(); }

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, HttpServerDependencies dependencies)
      : options_(std::move(options)),
        io_(options_.io_threads),
        acceptor_(asio::make_strand(io_)),
        accept_timer_(acceptor_.get_executor()),
        workers_(options_.worker_threads, options_.max_worker_jobs),
        responses_(options_.responses, dependencies.metrics, dependencies.clock),
        context_{options_,
                 dependencies.service,
                 dependencies.metrics,
                 dependencies.logger,
                 dependencies.clock,
                 workers_,
                 responses_,
                 num_websockets_,
                 router_,
                 std::move(dependencies.expose_metrics),
                 std::move(dependencies.version),
                 std::move(dependencies.commit)} {
    install_handlers(router_, options_);
  }

  ~Impl() { stop(std::chrono::milliseconds(0)); }

  Result<void> start() {
    const auto endpoint = parse_endpoint(options_);
    if (!endpoint) return tl::unexpected(endpoint.error());
    if (auto listening = listen(*endpoint); !listening) return listening;
    asio::co_spawn(acceptor_.get_executor(), accept_connections(), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);  // a fault of the program: ends it
    });
    for (int i = 0; i < options_.io_threads; ++i) {
      threads_.emplace_back([this] { io_.run(); });
    }
    return {};
  }

  void stop(std::chrono::milliseconds grace) {
    if (threads_.empty()) return;
    asio::post(acceptor_.get_executor(), [this] {
      is_stopping_ = true;
      error_code ignored;  // a listening socket has nothing to lose
      acceptor_.close(ignored);
      accept_timer_.cancel();
    });
    registry_.stop_all(StopKind::kGoingAway);
    if (!registry_.wait_until_empty(std::chrono::steady_clock::now() + grace)) {
      registry_.stop_all(StopKind::kNow);
      registry_.wait_until_empty(std::chrono::steady_clock::now() + kAbortTime);
    }
    work_.reset();
    io_.stop();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  std::uint16_t port() const { return port_; }
  const HttpOptions& options() const { return options_; }
  std::size_t num_connections() const { return registry_.size(); }

 private:
  Result<void> listen(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (!error) return {};
    error_code ignored;
    acceptor_.close(ignored);
    return fail(ErrorCode::kIo, "cannot listen on " + endpoint.address().to_string() + ":" +
                                    std::to_string(endpoint.port()) + ": " + error.message());
  }

  asio::awaitable<void> accept_connections() {
    while (!is_stopping_) {
      error_code error;
      auto strand = asio::make_strand(io_);
      tcp::socket socket =
          co_await acceptor_.async_accept(strand, asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        open_connection(std::move(socket));
      } else if (!is_stopping_) {
        accept_timer_.expires_after(kAcceptRetry);
        error_code ignored;  // cancelled by stop()
        co_await accept_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      }
    }
  }

  void open_connection(tcp::socket socket) {
    const std::size_t num_open = registry_.size();
    if (num_open >= options_.max_connections + kMaxRefusals) return;
    auto connection = std::make_shared<Connection>(std::move(socket), options_, context_.metrics);
    registry_.add(connection);
    context_.metrics.connections.add(1);
    auto session = num_open < options_.max_connections ? run_http_session(context_, connection)
                                                       : refuse_http_session(context_, connection);
    asio::co_spawn(connection->executor(), std::move(session),
                   [this, connection](std::exception_ptr failure) {
                     if (failure) report_failure(failure);
                     connection->close(ConnectionEnd::kServer);
                     context_.metrics.connections.add(-1);
                     registry_.remove(connection);
                   });
  }

  void report_failure(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      context_.logger.write(LogLevel::kError, "error", error.what());
    }
  }

  HttpOptions options_;
  // Destroyed after everything that posts to it.
  asio::io_context io_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
      asio::make_work_guard(io_)};
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  bool is_stopping_ = false;  // on the acceptor's strand
  ConnectionRegistry registry_;
  Router router_;
  WorkerQueue workers_;
  ResponseStore responses_;
  std::atomic<std::size_t> num_websockets_{0};
  ServerContext context_;
  std::vector<std::thread> threads_;
  std::uint16_t port_ = 0;
};

HttpServer::HttpServer(HttpOptions options, HttpServerDependencies dependencies)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(dependencies))) {}
HttpServer::~HttpServer() = default;

Result<void> HttpServer::start() { return impl_->start(); }
void HttpServer::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
std::size_t HttpServer::num_connections() const { return impl_->num_connections(); }

std::string HttpServer::url() const {
  const std::string& host = impl_->options().host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return "http://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

}  // namespace paceline
