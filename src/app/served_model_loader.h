#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/model_opener.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "config/config.h"
#include "http/service_state.h"
#include "metrics/engine_metrics.h"
#include "model/kernels/kernels.h"
#include "model/weights_loader.h"

namespace paceline {

/// The model computing behind the API, and what it took to get there. The engine inside `served` is
/// started.
struct LoadedModel {
  std::shared_ptr<const ServedModel> served;
  std::unique_ptr<EngineMetrics> metrics;  ///< outlives served->engine
  std::size_t weights_bytes = 0;
  std::size_t kv_pool_bytes = 0;
  int num_blocks = 0;
  std::string packed_because;         ///< why weights had to be packed; empty when they were there
  std::vector<std::string> warnings;  ///< one line each
};

/// What loading needs from the app; everything outlives the loaded model.
struct LoadContext {
  const Config& config;
  Isa isa;
  ThreadPool& team;
  MetricsRegistry& registry;
  const Clock& clock;
  LoadProgress progress;
};

/// Loads weights, sizes the KV pool, builds scheduler, runner and engine, and starts the engine.
/// Errors: kBadConfig for a pool too small for one block, kBadFile, kIo.
[[nodiscard]] Result<LoadedModel> load_served_model(OpenedModel opened, const LoadContext& context);

}  // namespace paceline
