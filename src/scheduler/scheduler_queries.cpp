// Snapshot and self-check of the Scheduler: reads everything, changes nothing.

#include <algorithm>
#include <cstddef>
#include <string>

#include "kvpool/pool_snapshot.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/step_planner.h"

namespace paceline {
namespace {

using Violations = std::vector<std::string>;

std::string name(const Sequence& s) { return "sequence " + std::to_string(raw(s.id())); }

void add_tenants(const SchedulerState& state, SchedulerSnapshot& snapshot) {
  for (std::size_t i = 0; i < state.fair_queue.num_tenants(); ++i) {
    const TenantId tenant{static_cast<std::uint32_t>(i)};
    const auto view = state.fair_queue.view(tenant);
    snapshot.tenants.push_back({.tenant = tenant,
                                .weight = view.weight,
                                .virtual_counter = view.counter,
                                .service_tokens = view.service_tokens,
                                .is_backlogged = view.is_backlogged});
  }
  for (const auto& [id, sequence] : state.sequences) {
    auto& tenant = snapshot.tenants[index_of(sequence->tenant())];
    ++(sequence->is_running() ? tenant.num_running : tenant.num_waiting);
  }
}

void add_waiting(const SchedulerState& state, const StepPlanner& planner,
                 SchedulerSnapshot& snapshot) {
  const auto add = [&](const Sequence& s, DecisionReason reason) {
    snapshot.waiting.push_back({s.id(), s.request(), s.tenant(), reason});
    ++snapshot.waiting_by_reason[static_cast<std::size_t>(reason)];
    if (s.stats().first_scheduled_at) ++snapshot.num_preempted;
  };
  for (std::size_t i = 0; i < state.fair_queue.num_tenants(); ++i) {
    const TenantId tenant{static_cast<std::uint32_t>(i)};
    const bool is_passed_over = planner.sole_tenant() && *planner.sole_tenant() != tenant;
    const DecisionReason reason =
        is_passed_over ? DecisionReason::kFairness : planner.admission_stop();
    for (const FairQueue::Place& place : state.fair_queue.waiting(tenant)) {
      add(*state.sequences.at(place.sequence), reason);
    }
  }
  std::vector<const Sequence*> not_queued;
  for (const auto& [id, s] : state.sequences) {
    if (!s->is_running() && !s->is_runnable()) not_queued.push_back(s.get());
  }
  std::ranges::sort(not_queued, {}, &Sequence::arrival);
  for (const Sequence* s : not_queued) {
    add(*s, s->is_paused() ? DecisionReason::kSlowReader : DecisionReason::kNone);
  }
}

void check_sequence(const SchedulerState& state, const Sequence& s, Violations& broken) {
  const int num_blocks = static_cast<int>(s.block_ids().size());
  const int block_size = state.options.block_size;
  if (s.num_remaining_tokens() <= 0) broken.push_back(name(s) + " has nothing left to compute");
  if (!s.is_running() && num_blocks > 0) broken.push_back(name(s) + " waits and holds blocks");
  const bool is_listed = std::ranges::find(state.running, &s) != state.running.end();
  if (is_listed != s.is_running()) broken.push_back(name(s) + " is not where its state says");
  if (!s.is_planned() && num_blocks != blocks_for(s.num_computed_tokens(), block_size)) {
    broken.push_back(name(s) + " holds " + std::to_string(num_blocks) + " blocks for " +
                     std::to_string(s.num_computed_tokens()) + " computed tokens");
  }
  const bool is_queued = state.fair_queue.waiting(s.tenant()).contains(place_of(s));
  if (is_queued != (!s.is_running() && s.is_runnable())) {
    broken.push_back(name(s) + " is queued and must not be, or the other way round");
  }
  for (int i = 0; i < s.num_registered_blocks(); ++i) {
    if (!state.pool.is_cached(s.block_ids()[static_cast<std::size_t>(i)])) {
      broken.push_back(name(s) + " counts a block as cached that is not");
    }
  }
}

void check_counts(const SchedulerState& state, Violations& broken) {
  QueueLoad waiting;
  int num_queued = 0;
  int num_paused = 0;
  for (const auto& [id, s] : state.sequences) {
    if (!s->stats().first_scheduled_at) waiting.num_tokens += s->num_prompt_tokens();
    if (!s->is_running() && s->is_runnable()) ++num_queued;
    if (s->is_running() && s->is_paused()) ++num_paused;
  }
  for (const auto& [id, request] : state.requests) {
    if (!request.has_started) ++waiting.num_requests;
  }
  if (waiting.num_tokens != state.waiting.num_tokens ||
      waiting.num_requests != state.waiting.num_requests) {
    broken.push_back("the queue's load is miscounted");
  }
  if (num_queued != state.fair_queue.num_waiting()) broken.push_back("the queue is miscounted");
  if (num_paused != state.num_paused_running) broken.push_back("pauses are miscounted");
  if (static_cast<int>(state.running.size()) > max_batch_size(state.options)) {
    broken.push_back("the batch is larger than allowed");
  }
  if (!std::ranges::is_sorted(state.running, {}, &Sequence::arrival)) {
    broken.push_back("the batch is not in order of arrival");
  }
}

}  // namespace

SchedulerSnapshot Scheduler::snapshot() const {
  const SchedulerState& state = *state_;
  SchedulerSnapshot snapshot;
  snapshot.num_running = static_cast<int>(state.running.size());
  snapshot.num_paused = state.num_paused_running;
  snapshot.num_waiting_requests = state.waiting.num_requests;
  snapshot.num_waiting_tokens = state.waiting.num_tokens;
  snapshot.num_blocks = state.pool.num_blocks();
  snapshot.num_active_blocks = state.pool.num_blocks() - state.pool.num_free();
  snapshot.num_cached_blocks = state.pool.num_free_cached();
  snapshot.num_free_blocks = state.pool.num_free() - state.pool.num_free_cached();
  snapshot.num_evicted_blocks = state.pool.num_evictions();
  snapshot.num_steps = state.step;
  snapshot.num_prefill_tokens = state.num_prefill_tokens;
  snapshot.num_decode_tokens = state.num_decode_tokens;
  snapshot.num_preemptions = state.num_preemptions;
  snapshot.prefix_queries = state.prefix_queries;
  snapshot.prefix_hits = state.prefix_hits;
  snapshot.decisions = state.decisions;
  snapshot.max_gap = state.fair_queue.gap();
  add_tenants(state, snapshot);
  add_waiting(state, *planner_, snapshot);
  return snapshot;
}

std::vector<std::string> Scheduler::check_invariants() const {
  std::vector<std::span<const BlockId>> holders = {state_->reservation.blocks(),
                                                   state_->reservation.pinned()};
  for (const auto& [id, s] : state_->sequences) holders.push_back(s->block_ids());
  Violations broken =
      paceline::check_invariants(take_snapshot(state_->pool, state_->cache), holders);
  for (const auto& [id, s] : state_->sequences) check_sequence(*state_, *s, broken);
  check_counts(*state_, broken);
  return broken;
}

}  // namespace paceline
