#include "scheduler/scheduler_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

bool is_queued(const Sequence& sequence) {
  return !sequence.is_running() && sequence.is_runnable();
}

void leave_batch(SchedulerState& state, Sequence& sequence) {
  state.running.erase(std::ranges::find(state.running, &sequence));
  if (sequence.is_paused()) --state.num_paused_running;
}

/// Takes a sequence that never ran out of what waits.
void stop_counting_as_waiting(SchedulerState& state, const Sequence& sequence) {
  state.waiting.num_tokens -= sequence.num_prompt_tokens();
}

}  // namespace

SchedulerState::SchedulerState(const SchedulerOptions& scheduler_options, BlockHashFunction hash)
    : options(scheduler_options),
      pool(options.num_blocks),
      cache(pool, options.block_size, options.hash_seed, hash),
      reservation(pool, cache),
      fair_queue(options.max_gap_tokens) {}

void record(SchedulerState& state, Sequence& sequence, Decision decision, DecisionReason reason,
            TimePoint now, BlockShortage shortage) {
  ++state.decisions[static_cast<std::size_t>(decision)];
  sequence.stats().decisions.record({.at = now,
                                     .step = state.step,
                                     .decision = decision,
                                     .reason = reason,
                                     .need_blocks = shortage.need_blocks,
                                     .free_blocks = shortage.free_blocks});
}

FairQueue::Place place_of(const Sequence& sequence) {
  return {.is_fresh = sequence.stats().num_preemptions == 0,
          .priority = sequence.priority(),
          .arrival = sequence.arrival(),
          .sequence = sequence.id()};
}

void admit(SchedulerState& state, Sequence& sequence, std::span<const BlockId> cached_blocks,
           TimePoint now) {
  state.fair_queue.erase(sequence.tenant(), place_of(sequence));
  const bool is_first = !sequence.stats().first_scheduled_at;
  sequence.admit(cached_blocks, state.options.block_size, now);
  const auto place = std::ranges::upper_bound(state.running, sequence.arrival(), {},
                                              [](const Sequence* s) { return s->arrival(); });
  state.running.insert(place, &sequence);
  record(state, sequence, is_first ? Decision::kAdmit : Decision::kResume, DecisionReason::kNone,
         now);
  if (!is_first) return;
  stop_counting_as_waiting(state, sequence);
  auto& request = state.requests.at(sequence.request());
  if (!std::exchange(request.has_started, true)) --state.waiting.num_requests;
}

void preempt(SchedulerState& state, Sequence& sequence, DecisionReason reason, TimePoint now) {
  leave_batch(state, sequence);
  sequence.preempt(now);
  ++state.num_preemptions;
  record(state, sequence, Decision::kPreempt, reason, now);
  if (is_queued(sequence)) state.fair_queue.push(sequence.tenant(), place_of(sequence));
}

SequenceStats remove(SchedulerState& state, Sequence& sequence, TimePoint now) {
  DCHECK(!sequence.is_planned());
  if (sequence.is_running()) {
    sequence.account_blocks(now);
    leave_batch(state, sequence);
  } else if (is_queued(sequence)) {
    state.fair_queue.erase(sequence.tenant(), place_of(sequence));
  }
  if (!sequence.stats().first_scheduled_at) stop_counting_as_waiting(state, sequence);
  state.fair_queue.leave(sequence.tenant());

  const auto request = state.requests.find(sequence.request());
  if (--request->second.num_live == 0) {
    if (!request->second.has_started) --state.waiting.num_requests;
    state.requests.erase(request);
  }
  SequenceStats stats = std::move(sequence.stats());
  state.sequences.erase(sequence.id());
  return stats;
}

}  // namespace paceline
