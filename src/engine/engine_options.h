#pragma once

#include <chrono>

namespace paceline {

struct EngineOptions {
  /// Tokens of prompt and output together; `model.max_context`, never above the model's.
  int max_context = 0;
  /// Tokens per KV block, as the scheduler's.
  int block_size = 0;
  /// Defined ids of the vocabulary; logits at and above it are ignored.
  int vocab_size = 0;
  /// Commands waiting for the engine thread (submit); cancel and resume have their own place and
  /// are never refused.
  int max_commands = 1024;
  /// Work exists and no step for so long: not ready (`engine.stall_ms`).
  std::chrono::milliseconds stall_timeout{10000};
  /// Shortest time between two published snapshots.
  std::chrono::milliseconds snapshot_interval{50};
};

}  // namespace paceline
