#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace paceline {

/// State of the engine as metrics, /admin and queue positions see it: immutable, published at most
/// every 50 ms and at rest.
struct EngineSnapshot {
  TimePoint taken_at{};
  int num_running = 0;  ///< sequences in the batch, paused ones included
  int num_waiting = 0;  ///< accepted requests that have not started, and preempted sequences
  std::int64_t waiting_tokens = 0;
  int kv_blocks_total = 0;
  int kv_blocks_active = 0;
  int kv_blocks_cached = 0;
  int kv_blocks_free = 0;
  int block_size = 0;
  std::uint64_t steps = 0;
  TimePoint last_step_at{};  ///< of the last step, or since when there is work, whichever is later
  bool has_work = false;
  bool healthy = true;           ///< false after a broken invariant: the server drains and exits
  std::string fault = {};        ///< what was found broken
  double tokens_per_second = 1;  ///< charged tokens over the last 30 s, floor 1; for Retry-After
  /// Waiting requests in the order of their tenant's queue; position = index + 1 within the tenant.
  struct Waiting {
    RequestId request{};
    TenantId tenant{};
    int position = 0;
    double estimated_start_ms = -1;  ///< -1: unknown
  };
  std::vector<Waiting> waiting;
};

}  // namespace paceline
