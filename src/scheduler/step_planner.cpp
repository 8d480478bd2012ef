#include "scheduler/step_planner.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "scheduler/preemption.h"

namespace paceline {

const StepPlan& StepPlanner::plan(TimePoint now) {
  DCHECK(parts_.empty());
  ++state_.step;
  sole_tenant_ = state_.fair_queue.update_held();
  choose(now);
  if (parts_.empty() && sole_tenant_) {
    state_.fair_queue.clear_held();
    sole_tenant_.reset();
    choose(now);
  }
  find_backlog();
  if (parts_.empty()) --state_.step;
  emit(now);
  return plan_;
}

void StepPlanner::clear() {
  for (const Part& part : parts_) part.sequence->set_plan_index(-1);
  parts_.clear();
  state_.reservation.release();
  state_.fair_queue.drop_planned();
}

void StepPlanner::choose(TimePoint now) {
  work_ = {};
  num_planned_blocks_ = 0;
  num_planned_rows_ = 0;
  admission_stop_ = DecisionReason::kNone;
  is_full_ = false;
  num_gap_victims_ = 0;
  is_gap_admission_over_ = false;
  plan_decodes(now);
  plan_prompts(now);
}

void StepPlanner::plan_decodes(TimePoint now) {
  decodes_.clear();
  for (Sequence* s : state_.running) {
    if (!s->is_paused() && !s->needs_prefill() && !state_.fair_queue.is_held(s->tenant())) {
      decodes_.push_back(s);
    }
  }
  for (Sequence* s : decodes_) {
    if (!s->is_running()) continue;
    const int capacity = s->blocks().size() * state_.options.block_size;
    if (s->num_computed_tokens() == capacity && !make_block_available(*s, true, now)) continue;
    add_part(*s, 1, 1, false);
    state_.fair_queue.plan(s->tenant(), kOutputTokenCost);
  }
}

void StepPlanner::find_backlog() {
  tenants_.clear();
  for (const Sequence* s : state_.running) {
    if (s->is_paused()) continue;
    const bool is_held_back =
        !s->is_planned() || parts_[static_cast<std::size_t>(s->plan_index())].num_tokens <
                                parts_[static_cast<std::size_t>(s->plan_index())].num_wanted_tokens;
    if (is_held_back) tenants_.push_back(s->tenant());
  }
  state_.fair_queue.update_backlog(tenants_);
}

void StepPlanner::emit(TimePoint now) {
  plan_.step = state_.step;
  plan_.sequences.clear();
  plan_.token_ids.clear();
  plan_.block_ids.clear();
  plan_.copies.clear();
  plan_.num_logits_rows = 0;
  plan_.num_prefill_tokens = 0;
  plan_.num_decode_tokens = 0;
  for (Part& part : parts_) {
    Sequence& s = *part.sequence;
    part.first_new_block = state_.reservation.size();
    CHECK(state_.reservation.extend(part.num_new_blocks));
    const auto new_blocks =
        state_.reservation.blocks().subspan(static_cast<std::size_t>(part.first_new_block));
    if (part.num_copied_tokens > 0) {
      plan_.copies.push_back({part.copy_source, new_blocks[0], part.num_copied_tokens});
    }
    const int rows = logits_rows(s, part.num_tokens);
    plan_.sequences.push_back({.sequence = s.id(),
                               .first_token = static_cast<std::int32_t>(plan_.token_ids.size()),
                               .num_tokens = part.num_tokens,
                               .start_position = s.num_computed_tokens(),
                               .first_block = static_cast<std::int32_t>(plan_.block_ids.size()),
                               .num_blocks = s.blocks().size() + part.num_new_blocks,
                               .first_logits_row = plan_.num_logits_rows,
                               .num_logits_rows = rows});
    plan_.num_logits_rows += rows;
    (part.is_prefill ? plan_.num_prefill_tokens : plan_.num_decode_tokens) += part.num_tokens;
    const auto tokens = s.token_ids().subspan(static_cast<std::size_t>(s.num_computed_tokens()),
                                              static_cast<std::size_t>(part.num_tokens));
    plan_.token_ids.insert(plan_.token_ids.end(), tokens.begin(), tokens.end());
    plan_.block_ids.insert(plan_.block_ids.end(), s.block_ids().begin(), s.block_ids().end());
    plan_.block_ids.insert(plan_.block_ids.end(), new_blocks.begin(), new_blocks.end());
    if (part.num_tokens < s.num_remaining_tokens()) {
      record(state_, s, Decision::kChunk, DecisionReason::kChunkBudget, now);
    }
  }
}

bool StepPlanner::make_block_available(Sequence& sequence, bool or_itself, TimePoint now) {
  while (available_blocks() < 1) {
    std::vector<VictimCandidate> candidates;
    std::vector<Sequence*> sequences;
    for (Sequence* s : state_.running) {
      const bool is_candidate =
          s->is_paused() || s->arrival() > sequence.arrival() || (or_itself && s == &sequence);
      if (s->is_planned() || !is_candidate) continue;
      candidates.push_back({s->is_paused(), s->arrival()});
      sequences.push_back(s);
    }
    const auto victim = pick_victim(candidates);
    if (!victim) return false;
    preempt_victim(*sequences[*victim], DecisionReason::kKvFull, now);
    if (!sequence.is_running()) return false;
  }
  return true;
}

void StepPlanner::preempt_victim(Sequence& victim, DecisionReason reason, TimePoint now) {
  std::erase(prompts_, &victim);
  preempt(state_, victim, reason, now);
}

StepPlanner::Part& StepPlanner::add_part(Sequence& sequence, int num_tokens, int num_wanted_tokens,
                                         bool is_prefill) {
  sequence.set_plan_index(static_cast<int>(parts_.size()));
  Part& part = parts_.emplace_back();
  part.sequence = &sequence;
  part.num_wanted_tokens = num_wanted_tokens;
  part.is_prefill = is_prefill;
  grow_part(part, num_tokens);
  return part;
}

void StepPlanner::grow_part(Part& part, int num_tokens) {
  const Sequence& s = *part.sequence;
  num_planned_rows_ -= part.num_tokens > 0 ? logits_rows(s, part.num_tokens) : 0;
  num_planned_blocks_ -= part.num_new_blocks;
  work_.add(s.num_computed_tokens() + part.num_tokens, num_tokens);

  part.num_tokens += num_tokens;
  part.num_new_blocks =
      blocks_for(s.num_computed_tokens() + part.num_tokens, state_.options.block_size) -
      static_cast<int>(s.block_ids().size());
  num_planned_rows_ += logits_rows(s, part.num_tokens);
  num_planned_blocks_ += part.num_new_blocks;
}

int StepPlanner::logits_rows(const Sequence& sequence, int num_tokens) const {
  const int start = sequence.num_computed_tokens();
  const int end = start + num_tokens;
  if (sequence.wants_prompt_logprobs() &&
      sequence.num_settled_tokens() < sequence.num_prompt_tokens()) {
    return std::max(0, end - std::max(start, sequence.num_settled_tokens()));
  }
  return end == sequence.num_tokens() ? 1 : 0;
}

}  // namespace paceline
