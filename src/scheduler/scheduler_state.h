#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "kvpool/block_pool.h"
#include "kvpool/block_reservation.h"
#include "kvpool/prefix_cache.h"
#include "scheduler/admission.h"
#include "scheduler/cost_model.h"
#include "scheduler/decision_log.h"
#include "scheduler/fair_queue.h"
#include "scheduler/scheduler_options.h"
#include "scheduler/sequence.h"

namespace paceline {

/// What the scheduler and its planner share: the sequences, where they wait or run, the pool, and
/// the counters. Changed only through the functions below where they name a transition. Engine
/// thread.
struct SchedulerState {
  SchedulerState(const SchedulerOptions& scheduler_options, BlockHashFunction hash);

  const SchedulerOptions options;
  BlockPool pool;
  PrefixCache cache;
  BlockReservation reservation;  ///< of the step being planned or computed
  FairQueue fair_queue;
  CostModel cost_model;

  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences;
  std::vector<Sequence*> running;  ///< the batch, oldest first
  /// Sequences that wait for the key's prompt, in order of arrival.
  std::unordered_map<SequenceId, std::vector<SequenceId>> followers;
  int num_paused_running = 0;

  struct RequestState {
    int num_live = 0;  ///< sequences
    bool has_started = false;
  };
  std::unordered_map<RequestId, RequestState> requests;
  QueueLoad waiting;  ///< requests and prompt tokens of sequences that never ran

  std::uint64_t step = 0;
  std::uint64_t num_prefill_tokens = 0;
  std::uint64_t num_decode_tokens = 0;
  std::uint64_t num_preemptions = 0;
  std::uint64_t prefix_queries = 0;  ///< tokens
  std::uint64_t prefix_hits = 0;     ///< tokens
  std::array<std::uint64_t, kNumDecisions> decisions = {};
};

/// Why and by how much the pool did not suffice; zeros when it was not the reason.
struct BlockShortage {
  int need_blocks = 0;
  int free_blocks = 0;
};

/// Counts a decision and writes it into the sequence's log.
void record(SchedulerState& state, Sequence& sequence, Decision decision, DecisionReason reason,
            TimePoint now, BlockShortage shortage = {});

/// Place of a sequence in its tenant's queue.
[[nodiscard]] FairQueue::Place place_of(const Sequence& sequence);

/// Moves a waiting sequence into the batch with the blocks that the prefix cache found.
void admit(SchedulerState& state, Sequence& sequence, std::span<const BlockId> cached_blocks,
           TimePoint now);

/// Moves a running sequence back to the front of its tenant's queue; its blocks stay cached.
void preempt(SchedulerState& state, Sequence& sequence, DecisionReason reason, TimePoint now);

/// Forgets a sequence in any phase. Returns what it cost.
[[nodiscard]] SequenceStats remove(SchedulerState& state, Sequence& sequence, TimePoint now);

}  // namespace paceline
