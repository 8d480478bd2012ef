// The part of StepPlanner that chooses prompts: which running ones go on, which waiting ones join.

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "base/check.h"
#include "scheduler/step_planner.h"
#include "scheduler/token_budget.h"

namespace paceline {

void StepPlanner::plan_prompts(TimePoint now) {
  prompts_.clear();
  tenants_.clear();
  for (Sequence* s : state_.running) {
    if (s->is_paused() || !s->needs_prefill() || state_.fair_queue.is_held(s->tenant())) continue;
    prompts_.push_back(s);
    tenants_.push_back(s->tenant());
  }
  std::ranges::sort(prompts_, {},
                    [](const Sequence* s) { return std::tuple(s->priority(), s->arrival()); });
  const double decode_ms = work_.num_tokens > 0 ? state_.cost_model.predict_ms(work_) : 0;
  limit_ms_ = step_limit_ms(decode_ms, state_.options.target_step_ms);

  state_.fair_queue.begin_round(tenants_);
  while (!is_full_) {
    const auto tenant = state_.fair_queue.next();
    if (!tenant) break;
    const auto prompt = std::ranges::find(prompts_, *tenant, &Sequence::tenant);
    if (prompt != prompts_.end()) {
      Sequence& sequence = **prompt;
      prompts_.erase(prompt);
      plan_running_prompt(sequence, now);
    } else if (may_admit(*tenant)) {
      plan_waiting_prompt(*tenant, now);
    } else {
      state_.fair_queue.drop_next();
    }
  }
  spread_rest();
}

void StepPlanner::plan_running_prompt(Sequence& sequence, TimePoint now) {
  const int start = sequence.num_computed_tokens();
  const int num_blocks = sequence.blocks().size();
  if (start == num_blocks * state_.options.block_size &&
      !make_block_available(sequence, false, now)) {
    record(state_, sequence, Decision::kDefer, DecisionReason::kKvFull, now, {1, 0});
    return;
  }
  const int chunk = choose_chunk(sequence, start, num_blocks + available_blocks());
  if (chunk == 0) {
    record(state_, sequence, Decision::kDefer, DecisionReason::kChunkBudget, now);
    is_full_ = true;
    return;
  }
  state_.fair_queue.plan_next(kInputTokenCost * chunk);
  add_part(sequence, chunk, wanted_tokens(sequence, start), true);
}

bool StepPlanner::may_admit(TenantId tenant) const {
  return admission_stop_ == DecisionReason::kNone && (!sole_tenant_ || *sole_tenant_ == tenant) &&
         !state_.fair_queue.waiting(tenant).empty();
}

void StepPlanner::plan_waiting_prompt(TenantId tenant, TimePoint now) {
  const SequenceId id = state_.fair_queue.waiting(tenant).begin()->sequence;
  Sequence& sequence = *state_.sequences.at(id);
  const int start = look_up(sequence);
  // Joining needs blocks for all its tokens, so blocks do not limit the chunk.
  const int enough_blocks = blocks_for(sequence.num_tokens(), state_.options.block_size);
  const int chunk = choose_chunk(sequence, start, enough_blocks);
  if (chunk == 0) {
    admission_stop_ = DecisionReason::kChunkBudget;
    is_full_ = true;
    record(state_, sequence, Decision::kDefer, admission_stop_, now);
    return;
  }
  BlockShortage shortage;
  admission_stop_ = make_room_for(sequence, shortage, now);
  if (admission_stop_ != DecisionReason::kNone) {
    record(state_, sequence, Decision::kDefer, admission_stop_, now, shortage);
    return;
  }
  is_gap_admission_over_ = num_gap_victims_ > 0;
  state_.fair_queue.plan_next(kInputTokenCost * chunk);
  join_batch(sequence, now);
  const int wanted = wanted_tokens(sequence, sequence.num_computed_tokens());
  Part& part = add_part(sequence, std::min(chunk, wanted), wanted, true);
  const int num_copied = sequence.num_computed_tokens() % state_.options.block_size;
  if (num_copied > 0) {
    part.num_copied_tokens = num_copied;
    part.copy_source = match_.partial->source;
  }
}

int StepPlanner::look_up(const Sequence& sequence) {
  int longest = sequence.num_tokens() - 1;
  if (sequence.wants_prompt_logprobs() &&
      sequence.num_settled_tokens() < sequence.num_prompt_tokens()) {
    longest = std::min(longest, sequence.num_settled_tokens());
  }
  if (!state_.options.prefix_cache) longest = 0;
  state_.cache.match(sequence.salt(), sequence.token_ids(), longest, match_);
  return static_cast<int>(match_.blocks.size()) * state_.options.block_size +
         (match_.partial ? match_.partial->num_tokens : 0);
}

void StepPlanner::join_batch(Sequence& sequence, TimePoint now) {
  const bool is_first = !sequence.stats().first_scheduled_at;
  admit(state_, sequence, match_.blocks, now);
  if (match_.partial) {
    const BlockId source = match_.partial->source;
    const int num_missing =
        blocks_for(sequence.num_tokens(), state_.options.block_size) - sequence.blocks().size();
    const int num_pinned = state_.pool.ref_count(source) == 0 ? 1 : 0;
    if (num_missing + num_pinned <= available_blocks()) {
      state_.reservation.pin(source);
      sequence.advance(match_.partial->num_tokens);
    }
  }
  if (!is_first) return;
  static_cast<void>(sequence.settle_prompt_charge());
  sequence.stats().cached_tokens = sequence.num_computed_tokens();
  state_.prefix_queries += static_cast<std::uint64_t>(sequence.num_prompt_tokens());
  state_.prefix_hits += static_cast<std::uint64_t>(sequence.num_computed_tokens());
}

AdmissionState StepPlanner::admission_state() const {
  AdmissionState admission;
  admission.num_running = static_cast<int>(state_.running.size());
  admission.num_active = admission.num_running - state_.num_paused_running;
  admission.max_running = max_batch_size(state_.options);
  admission.available_blocks = available_blocks();
  for (const Sequence* s : state_.running) {
    if (s->is_paused()) continue;
    int num_held = static_cast<int>(s->block_ids().size());
    if (s->is_planned())
      num_held += parts_[static_cast<std::size_t>(s->plan_index())].num_new_blocks;
    admission.promised_blocks +=
        std::max(0, blocks_for(s->num_tokens() + 1, state_.options.block_size) - num_held);
  }
  return admission;
}

DecisionReason StepPlanner::make_room_for(Sequence& sequence, BlockShortage& shortage,
                                          TimePoint now) {
  while (true) {
    const AdmissionState admission = admission_state();
    const auto num_held_hits = static_cast<int>(std::ranges::count_if(
        match_.blocks, [this](BlockId block) { return state_.pool.ref_count(block) > 0; }));
    shortage.need_blocks =
        blocks_to_admit(sequence.num_tokens(), num_held_hits, state_.options.block_size, admission);
    shortage.free_blocks = admission.available_blocks;
    const DecisionReason obstacle = admission_obstacle(shortage.need_blocks, admission);
    if (obstacle == DecisionReason::kNone) return obstacle;
    if (!preempt_for_admission(obstacle, shortage, now)) return obstacle;
  }
}

bool StepPlanner::preempt_for_admission(DecisionReason obstacle, const BlockShortage& shortage,
                                        TimePoint now) {
  Sequence* victim = nullptr;
  int num_paused_blocks = 0;
  for (Sequence* s : state_.running) {
    if (!s->is_paused()) continue;
    victim = s;
    num_paused_blocks += s->blocks().size();
  }
  const bool helps = obstacle == DecisionReason::kBatchFull ||
                     shortage.free_blocks + num_paused_blocks >= shortage.need_blocks;
  if (victim != nullptr && helps) {
    preempt_victim(*victim, obstacle, now);
    return true;
  }
  if (!sole_tenant_ || is_gap_admission_over_) return false;
  victim = newest_of_most_served_held();
  if (victim == nullptr) return false;
  preempt_victim(*victim, DecisionReason::kFairness, now);
  ++num_gap_victims_;
  return true;
}

Sequence* StepPlanner::newest_of_most_served_held() const {
  Sequence* victim = nullptr;
  double most = 0;
  for (Sequence* s : state_.running) {
    if (!state_.fair_queue.is_held(s->tenant()) || s->is_planned()) continue;
    const double counter = state_.fair_queue.view(s->tenant()).counter;
    if (victim != nullptr && counter < most) continue;
    victim = s;
    most = counter;
  }
  return victim;
}

void StepPlanner::spread_rest() {
  for (Part& part : parts_) {
    if (!part.is_prefill || part.num_tokens == part.num_wanted_tokens) continue;
    const Sequence& s = *part.sequence;
    const int start = s.num_computed_tokens() + part.num_tokens;
    const int num_blocks =
        static_cast<int>(s.block_ids().size()) + part.num_new_blocks + available_blocks();
    const int max_tokens =
        affordable_tokens(s, start, part.num_wanted_tokens - part.num_tokens, num_blocks);
    const int rest =
        chunk_size({.start = start, .max_tokens = max_tokens}, state_.cost_model, work_, limit_ms_);
    if (rest > 0) grow_part(part, rest);
  }
}

int StepPlanner::wanted_tokens(const Sequence& sequence, int start) const {
  int wanted = std::min(sequence.num_tokens() - start, state_.options.max_chunk_tokens);
  if (sequence.wants_prompt_logprobs() &&
      sequence.num_settled_tokens() < sequence.num_prompt_tokens()) {
    wanted = std::min(wanted, std::max(0, sequence.num_settled_tokens() - start) +
                                  state_.options.max_prompt_logprob_rows);
  }
  return wanted;
}

int StepPlanner::affordable_tokens(const Sequence& sequence, int start, int wanted,
                                   int num_blocks) const {
  const int num_rows_left = state_.options.max_logits_rows - num_planned_rows_;
  const bool every_row = sequence.wants_prompt_logprobs() &&
                         sequence.num_settled_tokens() < sequence.num_prompt_tokens();
  int by_rows = sequence.num_tokens() - start;
  if (every_row) {
    by_rows = std::max(0, sequence.num_settled_tokens() - start) + num_rows_left;
  } else if (num_rows_left == 0) {
    by_rows -= 1;
  }
  return std::max(0, std::min({wanted, by_rows, state_.options.max_step_tokens - work_.num_tokens,
                               num_blocks * state_.options.block_size - start}));
}

int StepPlanner::choose_chunk(const Sequence& sequence, int start, int num_blocks) const {
  const int num_others = state_.fair_queue.num_waiting() - (sequence.is_running() ? 0 : 1);
  const bool others_can_join =
      num_others > 0 && admission_stop_ == DecisionReason::kNone &&
      static_cast<int>(state_.running.size()) < max_batch_size(state_.options);
  const int max_tokens =
      affordable_tokens(sequence, start, wanted_tokens(sequence, start), num_blocks);
  return chunk_size({.start = start,
                     .max_tokens = max_tokens,
                     .min_tokens = std::min(state_.options.min_chunk_tokens, max_tokens),
                     .is_first = !has_prompt_part(),
                     .shares = !prompts_.empty() || others_can_join},
                    state_.cost_model, work_, limit_ms_);
}

}  // namespace paceline
