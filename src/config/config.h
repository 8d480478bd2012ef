#pragma once

#include <string>
#include <vector>

#include "base/logging.h"
#include "engine/engine_options.h"
#include "http/http_options.h"
#include "model/model_options.h"
#include "sampling/sampling_params.h"
#include "scheduler/scheduler_options.h"

namespace paceline {

/// The whole configuration of `paceline serve`: every module's options. The defaults are the
/// structs' own.
struct Config {
  ModelOptions model;
  SchedulerOptions scheduler;
  EngineOptions engine;
  HttpOptions http;
  /// `sampling.*`: what a request gets for the sampling fields it leaves out.
  SamplingParams sampling;
  LogOptions log;
};

/// Checks what concerns several keys. Returns one line per fault, naming the keys.
[[nodiscard]] std::vector<std::string> check_together(const Config& config);

}  // namespace paceline
