#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/decision_log.h"

namespace paceline {

/// Copied state of the scheduler for metrics, queue positions and the admin pages.
struct SchedulerSnapshot {
  int num_running = 0;                  ///< sequences in the batch, paused ones included
  int num_paused = 0;                   ///< of these
  int num_waiting_requests = 0;         ///< accepted, no sequence started
  int num_preempted = 0;                ///< sequences that wait after having run
  std::int64_t num_waiting_tokens = 0;  ///< prompt tokens of sequences never started

  int num_blocks = 0;
  int num_active_blocks = 0;  ///< held by sequences
  int num_cached_blocks = 0;  ///< reusable content, held by nobody
  int num_free_blocks = 0;    ///< without content
  std::uint64_t num_evicted_blocks = 0;

  std::uint64_t num_steps = 0;
  std::uint64_t num_prefill_tokens = 0;
  std::uint64_t num_decode_tokens = 0;
  std::uint64_t num_preemptions = 0;
  std::uint64_t prefix_queries = 0;                             ///< prompt tokens looked up
  std::uint64_t prefix_hits = 0;                                ///< of these found
  std::array<std::uint64_t, kNumDecisions> decisions = {};      ///< by Decision
  std::array<int, kNumDecisionReasons> waiting_by_reason = {};  ///< sequences, by DecisionReason

  struct TenantState {
    TenantId tenant{};
    double weight = 1;
    double virtual_counter = 0;  ///< service / weight
    double service_tokens = 0;   ///< charge before division by weight, total
    int num_running = 0;
    int num_waiting = 0;
    bool is_backlogged = false;
  };
  std::vector<TenantState> tenants;
  double max_gap = 0;  ///< largest difference of two backlogged tenants' counters

  /// Waiting sequences, each tenant's in the order in which they will be admitted.
  struct Waiting {
    SequenceId sequence{};
    RequestId request{};
    TenantId tenant{};
    DecisionReason reason = DecisionReason::kNone;
  };
  std::vector<Waiting> waiting;
};

}  // namespace paceline
