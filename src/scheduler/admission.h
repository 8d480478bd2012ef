#pragma once

#include <cstdint>

#include "base/error.h"
#include "scheduler/decision_log.h"
#include "scheduler/scheduler_options.h"

namespace paceline {

/// Sequences that can be in the batch at once: each may need a token and a row of logits.
[[nodiscard]] int max_batch_size(const SchedulerOptions& options);

/// Largest prompt + output that can ever run, tokens: the smaller of context and pool.
[[nodiscard]] int max_total_tokens(const SchedulerOptions& options);

/// Blocks that `num_tokens` tokens fill.
[[nodiscard]] int blocks_for(int num_tokens, int block_size);

/// What waits, over all tenants.
struct QueueLoad {
  int num_requests = 0;
  std::int64_t num_tokens = 0;
};

/// Whether a sequence can ever run. Errors: kContextLengthExceeded, kKvCapacityExceeded, with both
/// numbers.
[[nodiscard]] Result<void> check_fits(int num_prompt_tokens, int max_new_tokens,
                                      const SchedulerOptions& options);

/// Whether a request with `num_tokens` prompt tokens may wait behind `waiting`. A request that is
/// larger than the bound on tokens may wait alone. Errors: kServerOverloaded.
[[nodiscard]] Result<void> check_queue(const QueueLoad& waiting, std::int64_t num_tokens,
                                       const SchedulerOptions& options);

/// Batch and pool at the moment when a waiting sequence could join.
struct AdmissionState {
  int num_running = 0;  ///< in the batch, paused ones included
  int num_active = 0;   ///< of these not paused
  int max_running = 0;
  int available_blocks = 0;  ///< free and not planned for this step
  int promised_blocks = 0;   ///< that the batch will need for the tokens it has
};

/// Blocks that must be available for a sequence to join: its own for all its tokens, and as
/// headroom against early preemption one for the next token of each and those promised already.
/// Alone it needs just its own. `num_held_hits`: blocks of its prefix that others hold.
[[nodiscard]] int blocks_to_admit(int num_tokens, int num_held_hits, int block_size,
                                  const AdmissionState& state);

/// Returns why a sequence cannot join now: kBatchFull, kKvFull, or kNone when it can.
[[nodiscard]] DecisionReason admission_obstacle(int needed_blocks, const AdmissionState& state);

}  // namespace paceline
