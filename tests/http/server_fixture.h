#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/logging.h"
#include "http/server.h"
#include "metrics/http_metrics.h"
#include "metrics/registry.h"

namespace paceline {

/// A running server without a model, on a free port: everything below the engine. Its log lines are
/// kept.
class ServerFixture {
 public:
  explicit ServerFixture(HttpOptions options = {});
  ~ServerFixture();

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] HttpServer& server() { return *server_; }
  [[nodiscard]] ServiceState& service() { return service_; }
  [[nodiscard]] HttpMetrics& metrics() { return metrics_; }
  /// Waits until no connection is open; false after ten seconds.
  [[nodiscard]] bool wait_until_no_connections();
  [[nodiscard]] std::vector<std::string> log_lines();
  /// Number of lines of event `request` so far.
  [[nodiscard]] std::size_t num_request_lines();

 private:
  SteadyClock clock_;
  MetricsRegistry registry_;
  HttpMetrics metrics_;
  ServiceState service_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  Logger logger_;
  std::unique_ptr<HttpServer> server_;
};

/// Options for tests: a free port and timeouts that a test can wait for.
[[nodiscard]] HttpOptions quick_options();

}  // namespace paceline
