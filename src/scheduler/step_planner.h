#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/step_plan.h"

namespace paceline {

/// Plans one step after another: which sequences, how many tokens of each. Order within a step:
/// running sequences that need one token, oldest first; then prompts, the least served tenant
/// first, running ones before waiting ones, as far as the predicted duration, tokens, rows and
/// blocks allow. Preempts where the pool or the fairness bound asks for it. Part of the Scheduler;
/// engine thread.
class StepPlanner {
 public:
  explicit StepPlanner(SchedulerState& state) : state_(state) {}

  /// Fills the plan and reserves its blocks. Empty only when nothing can run.
  const StepPlan& plan(TimePoint now);
  /// Ends the step: no sequence has a part in it any more.
  void clear();

  /// A sequence's part, while it is planned and until clear(); index = Sequence::plan_index().
  struct Part {
    Sequence* sequence = nullptr;
    int num_tokens = 0;
    int num_wanted_tokens = 0;  ///< what it would take alone; more than num_tokens: held back
    int first_new_block = 0;    ///< index into the reservation
    int num_new_blocks = 0;
    int num_copied_tokens = 0;  ///< reused by copy into the first new block
    BlockId copy_source{};
    bool is_prefill = false;
  };
  [[nodiscard]] std::span<const Part> parts() const { return parts_; }
  [[nodiscard]] const StepWork& work() const { return work_; }
  [[nodiscard]] const StepPlan& current() const { return plan_; }
  /// Why waiting sequences stayed out of the last step; kNone when all that wait could join.
  [[nodiscard]] DecisionReason admission_stop() const { return admission_stop_; }
  /// The only tenant that the last step admitted from, when others were held.
  [[nodiscard]] std::optional<TenantId> sole_tenant() const { return sole_tenant_; }

 private:
  void choose(TimePoint now);
  void plan_decodes(TimePoint now);
  void plan_prompts(TimePoint now);
  void plan_running_prompt(Sequence& sequence, TimePoint now);
  void plan_waiting_prompt(TenantId tenant, TimePoint now);
  void spread_rest();
  void find_backlog();
  void emit(TimePoint now);

  [[nodiscard]] bool may_admit(TenantId tenant) const;
  /// Looks a waiting sequence's prefix up; returns the position where computing would start.
  int look_up(const Sequence& sequence);
  void join_batch(Sequence& sequence, TimePoint now);
  [[nodiscard]] AdmissionState admission_state() const;
  /// Preempts until `sequence` can join; returns what still keeps it out, or kNone.
  DecisionReason make_room_for(Sequence& sequence, BlockShortage& shortage, TimePoint now);
  /// Preempts a paused sequence, or one of a tenant that is held. Returns false when that cannot
  /// help.
  bool preempt_for_admission(DecisionReason obstacle, const BlockShortage& shortage, TimePoint now);
  [[nodiscard]] Sequence* newest_of_most_served_held() const;
  /// Makes one more block available to a running sequence by preempting paused or newer ones, the
  /// sequence itself last when `or_itself`. Returns whether it has one.
  bool make_block_available(Sequence& sequence, bool or_itself, TimePoint now);
  void preempt_victim(Sequence& victim, DecisionReason reason, TimePoint now);

  [[nodiscard]] int wanted_tokens(const Sequence& sequence, int start) const;
  /// Tokens of a sequence from `start` that tokens, rows and `num_blocks` blocks allow, at most
  /// `wanted`.
  [[nodiscard]] int affordable_tokens(const Sequence& sequence, int start, int wanted,
                                      int num_blocks) const;
  [[nodiscard]] int choose_chunk(const Sequence& sequence, int start, int num_blocks) const;
  [[nodiscard]] int logits_rows(const Sequence& sequence, int num_tokens) const;
  [[nodiscard]] int available_blocks() const {
    return state_.pool.num_free() - num_planned_blocks_;
  }
  [[nodiscard]] bool has_prompt_part() const { return !parts_.empty() && parts_.back().is_prefill; }
  Part& add_part(Sequence& sequence, int num_tokens, int num_wanted_tokens, bool is_prefill);
  void grow_part(Part& part, int num_tokens);

  SchedulerState& state_;
  StepPlan plan_;
  std::vector<Part> parts_;
  StepWork work_;
  int num_planned_blocks_ = 0;
  int num_planned_rows_ = 0;
  double limit_ms_ = 0;
  DecisionReason admission_stop_ = DecisionReason::kNone;
  bool is_full_ = false;     ///< no further prompt fits the step
  int num_gap_victims_ = 0;  ///< preempted for the fairness bound
  bool is_gap_admission_over_ = false;
  std::optional<TenantId> sole_tenant_;

  // Scratch, reused from step to step.
  std::vector<Sequence*> decodes_;
  std::vector<Sequence*> prompts_;  ///< running, not planned yet; by priority, then arrival
  std::vector<TenantId> tenants_;
  PrefixMatch match_;
};

}  // namespace paceline
