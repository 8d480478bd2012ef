#pragma once

#include <string>

#include "metrics/registry.h"

namespace paceline {

/// Labels of paceline_build_info.
struct BuildInfo {
  std::string version = {};
  std::string commit = {};
  std::string compiler = {};
  std::string isa = {};
  std::string weights = {};
  std::string kv = {};
  std::string model_name = {};
};

/// Series of the process as a whole: build, threads, readiness, reloads. Owned by the app. Any
/// thread.
class ServerMetrics {
 public:
  /// Sets the start time to now.
  ServerMetrics(MetricsRegistry& registry, const BuildInfo& info);
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  PerLabel<ThreadRole, Gauge> threads;
  Gauge ready;
  PerLabel<ReloadResult, Counter> config_reloads;
};

}  // namespace paceline
