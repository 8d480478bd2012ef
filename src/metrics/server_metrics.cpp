#include "metrics/server_metrics.h"

#include <chrono>

namespace paceline {

ServerMetrics::ServerMetrics(MetricsRegistry& registry, const BuildInfo& info) {
  registry
      .gauge("paceline_build_info", "What is running.",
             {{"version", info.version},
              {"commit", info.commit},
              {"compiler", info.compiler},
              {"isa", info.isa},
              {"weights", info.weights},
              {"kv", info.kv},
              {"model_name", info.model_name}})
      .set(1);
  threads = registry.gauges<ThreadRole>("paceline_threads", "Threads by role.", "role");
  ready = registry.gauge("paceline_ready", "1 while /ready answers 200.");
  config_reloads = registry.counters<ReloadResult>("paceline_config_reloads_total",
                                                   "Reloads of the configuration.", "result");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  registry.gauge("paceline_start_time_seconds", "Start of the process, Unix time.")
      .set(std::chrono::duration<double>(now).count());
}

}  // namespace paceline
