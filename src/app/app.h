#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "app/served_model_loader.h"
#include "app/shutdown_signals.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/logging.h"
#include "base/thread_pool.h"
#include "config/config.h"
#include "http/server.h"
#include "http/service_state.h"
#include "metrics/http_metrics.h"
#include "metrics/registry.h"
#include "metrics/server_metrics.h"

namespace paceline {

/// Composition root of `paceline serve`: makes every part, starts them in order and ends them in
/// reverse. The server listens before the weights are loaded, so that liveness and readiness answer
/// from the first moment. A supervisor thread loads the model and then watches the engine; the main
/// thread waits for a signal.
class App {
 public:
  /// Throws std::runtime_error when the log file cannot be opened.
  App(Config config, OpenedModel model, Isa isa, const ShutdownSignals& signals);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Listens, loads, serves and drains; returns the exit status when all has ended.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Result<void> start_server();
  void supervise();
  [[nodiscard]] bool load();
  void show_progress(std::uint64_t done, std::uint64_t total);
  void announce_ready(Duration load_time);
  void watch_engine();
  [[nodiscard]] bool wait_for_end(Duration at_most);
  void end_supervisor();
  void drain();

  const Config config_;
  OpenedModel opened_;
  const Isa isa_;
  const ShutdownSignals& signals_;
  SteadyClock clock_;
  Logger logger_;
  MetricsRegistry registry_;
  ServerMetrics server_metrics_;
  HttpMetrics http_metrics_;
  ThreadPool team_;
  ServiceState service_;
  LoadedModel loaded_;
  std::unique_ptr<HttpServer> server_;

  int shown_percent_ = -1;  // supervisor thread
  std::mutex mutex_;
  std::condition_variable ending_changed_;
  bool is_ending_ = false;  // guarded by mutex_
  std::atomic<bool> has_failed_{false};
};

}  // namespace paceline
