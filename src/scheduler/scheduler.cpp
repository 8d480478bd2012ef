#include "scheduler/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/step_planner.h"

namespace paceline {

Scheduler::Scheduler(SchedulerOptions options, const Clock& clock, BlockHashFunction hash)
    : clock_(clock),
      state_(std::make_unique<SchedulerState>(options, hash)),
      planner_(std::make_unique<StepPlanner>(*state_)) {
  CHECK(options.num_blocks > 0 && options.block_size > 0 && options.max_context > 0);
  CHECK(max_batch_size(options) > 0);
  CHECK(options.min_chunk_tokens > 0 && options.max_chunk_tokens > 0);
  CHECK(options.max_prompt_logprob_rows > 0);
}

Scheduler::~Scheduler() = default;

void Scheduler::set_tenant(const Tenant& tenant) {
  state_->fair_queue.set_weight(tenant.id, tenant.weight);
}

Result<void> Scheduler::add(std::vector<NewSequence> sequences) {
  CHECK(!is_step_open_);
  CHECK(!sequences.empty());
  const SchedulerOptions& options = state_->options;
  std::int64_t num_prompt_tokens = 0;
  Result<void> accepted;
  for (const NewSequence& s : sequences) {
    CHECK(!s.prompt.empty());
    const int num_tokens = static_cast<int>(
        std::min(s.prompt.size(), static_cast<std::size_t>(options.max_context) + 1));
    num_prompt_tokens += num_tokens;
    if (accepted) accepted = check_fits(num_tokens, s.max_new_tokens, options);
  }
  if (accepted) accepted = check_queue(state_->waiting, num_prompt_tokens, options);
  if (!accepted) {
    ++state_->decisions[static_cast<std::size_t>(Decision::kReject)];
    return accepted;
  }

  const TimePoint now = clock_.now();
  const RequestId request = sequences.front().request;
  if (state_->requests[request].num_live == 0) ++state_->waiting.num_requests;
  state_->requests[request].num_live += static_cast<int>(sequences.size());
  state_->waiting.num_tokens += num_prompt_tokens;
  for (NewSequence& s : sequences) {
    DCHECK(s.request == request);
    if (s.after && !state_->sequences.contains(*s.after)) s.after.reset();
    const SequenceId id = s.id;
    auto owned = std::make_unique<Sequence>(std::move(s), next_arrival_++, now, state_->pool);
    const Sequence& sequence = *owned;
    CHECK(state_->sequences.emplace(id, std::move(owned)).second);
    state_->fair_queue.enter(sequence.tenant());
    if (sequence.after() && !find(*sequence.after())->is_prompt_computed()) {
      state_->followers[*sequence.after()].push_back(id);
    } else {
      state_->sequences.at(id)->clear_after();
      state_->fair_queue.push(sequence.tenant(), place_of(sequence));
    }
  }
  return {};
}

std::optional<SequenceStats> Scheduler::cancel(SequenceId id) {
  CHECK(!is_step_open_);
  const auto sequence = state_->sequences.find(id);
  if (sequence == state_->sequences.end()) return std::nullopt;
  return retire(*sequence->second, clock_.now());
}

void Scheduler::pause(SequenceId id) {
  CHECK(!is_step_open_);
  const auto found = state_->sequences.find(id);
  if (found == state_->sequences.end() || found->second->is_paused()) return;
  Sequence& sequence = *found->second;
  if (sequence.is_running()) {
    ++state_->num_paused_running;
  } else if (sequence.is_runnable()) {
    state_->fair_queue.erase(sequence.tenant(), place_of(sequence));
  }
  sequence.set_paused(true);
  record(*state_, sequence, Decision::kPause, DecisionReason::kSlowReader, clock_.now());
}

void Scheduler::resume(SequenceId id) {
  CHECK(!is_step_open_);
  const auto found = state_->sequences.find(id);
  if (found == state_->sequences.end() || !found->second->is_paused()) return;
  Sequence& sequence = *found->second;
  sequence.set_paused(false);
  if (sequence.is_running()) {
    --state_->num_paused_running;
  } else if (sequence.is_runnable()) {
    state_->fair_queue.push(sequence.tenant(), place_of(sequence));
  }
  record(*state_, sequence, Decision::kResume, DecisionReason::kSlowReader, clock_.now());
}

const StepPlan& Scheduler::schedule() {
  CHECK(!is_step_open_);
  const StepPlan& plan = planner_->plan(clock_.now());
  is_step_open_ = !plan.empty();
  return plan;
}

void Scheduler::commit(std::span<const StepResult> results, Duration step_time) {
  CHECK(is_step_open_);
  const TimePoint now = clock_.now();
  retired_.clear();
  results_.assign(planner_->parts().size(), nullptr);
  for (const StepResult& result : results) {
    const Sequence* sequence = find(result.sequence);
    CHECK(sequence != nullptr && sequence->is_planned());
    results_[static_cast<std::size_t>(sequence->plan_index())] = &result;
  }
  for (Sequence* sequence : state_->running) sequence->account_blocks(now);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    complete(i, results_[i]);
  }
  state_->num_prefill_tokens += static_cast<std::uint64_t>(planner_->current().num_prefill_tokens);
  state_->num_decode_tokens += static_cast<std::uint64_t>(planner_->current().num_decode_tokens);
  state_->cost_model.observe(planner_->work(), to_ms(step_time));

  finished_.clear();
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i] != nullptr && results_[i]->finished) {
      finished_.push_back(planner_->parts()[i].sequence);
    }
  }
  planner_->clear();
  for (Sequence* sequence : finished_) {
    const SequenceId id = sequence->id();
    retired_.push_back({id, retire(*sequence, now)});
  }
  is_step_open_ = false;
}

void Scheduler::complete(std::size_t part_index, const StepResult* result) {
  const StepPlanner::Part& part = planner_->parts()[part_index];
  Sequence& sequence = *part.sequence;
  state_->reservation.commit(part.first_new_block, part.num_new_blocks, sequence.blocks());
  sequence.advance(part.num_tokens);
  double charge = kInputTokenCost * sequence.settle_prompt_charge();
  if (state_->options.prefix_cache) register_full_blocks(sequence);
  if (sequence.is_prompt_computed()) release_followers(sequence.id());
  if (result != nullptr && result->has_token) {
    charge += kOutputTokenCost;
    sequence.append(result->token);
  }
  state_->fair_queue.charge(sequence.tenant(), charge);
  CHECK(sequence.num_remaining_tokens() > 0 || (result != nullptr && result->finished));
}

void Scheduler::register_full_blocks(Sequence& sequence) {
  const auto block_size = static_cast<std::size_t>(state_->options.block_size);
  const int num_full = sequence.num_computed_tokens() / state_->options.block_size;
  for (int i = sequence.num_registered_blocks(); i < num_full; ++i) {
    const auto index = static_cast<std::size_t>(i);
    std::optional<BlockId> parent;
    if (i > 0) parent = sequence.block_ids()[index - 1];
    const BlockId block = sequence.block_ids()[index];
    const BlockId canonical =
        state_->cache.insert(sequence.salt(), parent,
                             sequence.token_ids().subspan(index * block_size, block_size), block);
    if (canonical != block) sequence.blocks().replace(i, canonical);
  }
  sequence.set_num_registered_blocks(num_full);
}

void Scheduler::release_followers(SequenceId leader) {
  const auto followers = state_->followers.find(leader);
  if (followers == state_->followers.end()) return;
  for (const SequenceId id : followers->second) {
    const auto found = state_->sequences.find(id);
    if (found == state_->sequences.end()) continue;
    Sequence& follower = *found->second;
    follower.clear_after();
    if (follower.is_runnable()) {
      state_->fair_queue.push(follower.tenant(), place_of(follower));
    }
  }
  state_->followers.erase(followers);
}

SequenceStats Scheduler::retire(Sequence& sequence, TimePoint now) {
  const SequenceId id = sequence.id();
  SequenceStats stats = remove(*state_, sequence, now);
  release_followers(id);
  return stats;
}

void Scheduler::abort_step() {
  CHECK(is_step_open_);
  for (const StepPlanner::Part& part : planner_->parts()) {
    part.sequence->advance(-part.num_copied_tokens);
  }
  planner_->clear();
  is_step_open_ = false;
}

std::span<const Scheduler::Retired> Scheduler::retired() const { return retired_; }

const Sequence* Scheduler::find(SequenceId id) const {
  const auto found = state_->sequences.find(id);
  return found == state_->sequences.end() ? nullptr : found->second.get();
}

bool Scheduler::has_work() const {
  return state_->fair_queue.num_waiting() > 0 ||
         static_cast<int>(state_->running.size()) > state_->num_paused_running;
}

int Scheduler::max_total_tokens() const { return paceline::max_total_tokens(state_->options); }

}  // namespace paceline
