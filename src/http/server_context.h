#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"

namespace paceline {

class HttpMetrics;
class Logger;
class ResponseStore;
class Router;
class ServiceState;
class WorkerQueue;
struct HttpOptions;

/// What sessions, middleware and handlers share. Owned by the server; everything in it may be used
/// by any I/O thread.
struct ServerContext {
  const HttpOptions& options;
  ServiceState& service;
  HttpMetrics& metrics;
  Logger& logger;
  const Clock& clock;
  WorkerQueue& workers;
  ResponseStore& responses;
  std::atomic<std::size_t>& num_websockets;  ///< open or being opened
  const Router& router;
  std::function<std::string()> expose_metrics;
  std::string version;
  std::string commit;
};

}  // namespace paceline
