#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/logging.h"
#include "http/http_options.h"
#include "http/service_state.h"

namespace paceline {

class HttpMetrics;

/// Values of the metric label `route`, in the order HttpMetrics wants them.
[[nodiscard]] std::span<const std::string_view> http_route_labels();

/// What the server needs from the rest of the program; everything outlives it.
struct HttpServerDependencies {
  ServiceState& service;
  HttpMetrics& metrics;
  /// Returns the whole text exposition; called on an I/O thread, must not block.
  std::function<std::string()> expose_metrics;
  Logger& logger;
  const Clock& clock;
  /// For /version.
  std::string version;
  std::string commit;
};

/// The HTTP server: listens, runs one coroutine per connection on a few I/O threads, owns every
/// connection. Starts before the model is loaded (ServiceState). Owned by the app.
class HttpServer {
 public:
  HttpServer(HttpOptions options, HttpServerDependencies dependencies);
  /// Stops without grace. The engine thread has ended before: it wakes connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds and starts the threads. Errors: kIo, with one line that names address and reason (port
  /// in use, not an address); kBadConfig for a non-loopback address without tenants.
  [[nodiscard]] Result<void> start();
  /// Stops accepting, closes idle connections at once and the others when their answer is written
  /// (WebSockets with 1001), all of them after `grace`; returns when every connection and thread
  /// has ended.
  void stop(std::chrono::milliseconds grace);

  /// Port listened on; useful with port 0. Requires: started.
  [[nodiscard]] std::uint16_t port() const;
  /// `http://127.0.0.1:8000`. Requires: started.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::size_t num_connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
