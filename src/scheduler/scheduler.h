#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "kvpool/block_hash.h"
#include "scheduler/scheduler_options.h"
#include "scheduler/scheduler_snapshot.h"
#include "scheduler/sequence.h"
#include "scheduler/step_plan.h"
#include "tenant/tenant.h"

namespace paceline {

class StepPlanner;
struct SchedulerState;

/// Decides what every step computes: which sequences, how many tokens of each, into which blocks.
/// Owned by the engine; engine thread. Two-call contract: schedule() reserves and plans, then
/// either commit() or abort_step() follows; between the two only queries are allowed.
class Scheduler {
 public:
  /// `hash` keys the prefix cache; what is reused does not depend on it.
  Scheduler(SchedulerOptions options, const Clock& clock, BlockHashFunction hash = &hash_block);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a tenant or changes its weight; tenants never named have weight 1.
  void set_tenant(const Tenant& tenant);

  /// Queues the sequences of one request, all or none. Requires: at least one, prompts not empty,
  /// ids new, `after` names a live sequence or an earlier one of the same call (an unknown one is
  /// not waited for).
  /// Errors: kContextLengthExceeded; kKvCapacityExceeded when prompt + max_new_tokens can never fit
  /// the pool; kServerOverloaded when the queue's bounds are reached.
  [[nodiscard]] Result<void> add(std::vector<NewSequence> sequences);
  /// Ends a sequence in whatever phase it is; its blocks are free at once. Returns what it cost;
  /// nothing for an unknown id.
  std::optional<SequenceStats> cancel(SequenceId id);
  /// Slow reader: the sequence is not scheduled; it keeps its blocks until others need them. No
  /// effect on an unknown or paused one.
  void pause(SequenceId id);
  /// Ends the pause. No effect on an unknown one or one that is not paused.
  void resume(SequenceId id);

  /// Plans the next step; valid until the next call. Empty only when has_work() is false.
  [[nodiscard]] const StepPlan& schedule();
  /// Takes over what the step computed: appends the tokens of `results`, which name each planned
  /// sequence at most once; a planned sequence without a result only advances. Finished sequences
  /// are gone afterwards; their cost is in retired().
  void commit(std::span<const StepResult> results, Duration step_time);
  /// Gives back what the failed step reserved; nothing of it is computed.
  void abort_step();

  /// A sequence that ended in a commit.
  struct Retired {
    SequenceId sequence;
    SequenceStats stats;
  };
  /// The sequences that the last commit() ended.
  [[nodiscard]] std::span<const Retired> retired() const;

  /// Returns a live sequence or null; valid until the next call that changes anything.
  [[nodiscard]] const Sequence* find(SequenceId id) const;
  /// Whether a sequence can be scheduled: running or waiting, not paused.
  [[nodiscard]] bool has_work() const;
  /// Largest prompt + max_new_tokens that can ever run: the smaller of context and pool.
  [[nodiscard]] int max_total_tokens() const;
  [[nodiscard]] SchedulerSnapshot snapshot() const;
  /// Returns a sentence for each broken rule; empty when all hold. Between any two calls.
  [[nodiscard]] std::vector<std::string> check_invariants() const;

 private:
  void complete(std::size_t part_index, const StepResult* result);
  void register_full_blocks(Sequence& sequence);
  void release_followers(SequenceId leader);
  SequenceStats retire(Sequence& sequence, TimePoint now);

  const Clock& clock_;
  std::unique_ptr<SchedulerState> state_;
  std::unique_ptr<StepPlanner> planner_;
  bool is_step_open_ = false;  ///< between schedule() and commit() or abort_step()
  std::uint64_t next_arrival_ = 0;
  std::vector<const StepResult*> results_;  ///< by part of the step
  std::vector<Sequence*> finished_;         ///< scratch of commit()
  std::vector<Retired> retired_;
};

}  // namespace paceline
