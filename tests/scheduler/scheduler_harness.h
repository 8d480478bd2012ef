#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/fake_model.h"
#include "tests/support/manual_clock.h"

namespace paceline {

/// Returns `count` token ids: first, first + 1, …
std::vector<TokenId> token_run(int first, int count);
std::vector<TokenId> join(std::vector<TokenId> a, const std::vector<TokenId>& b);

/// Options with which only the plain limits count: no step is too long for the target.
SchedulerOptions plain_options(int num_blocks, int block_size = 4);

/// Scheduler with a fake model under it: runs steps, gives every sequence its tokens, ends it at
/// its cap, and checks after every call what must always hold.
class SchedulerHarness {
 public:
  explicit SchedulerHarness(const SchedulerOptions& options, BlockHashFunction hash = &hash_block);

  struct Spec {
    std::vector<TokenId> prompt;
    int max_new_tokens = 1;
    unsigned tenant = 0;
    int priority = 0;
    bool prompt_logprobs = false;
    std::string cache_salt = {};
    std::optional<SequenceId> after = {};
  };
  /// Adds a request of one sequence. Fails the test when it is refused.
  SequenceId add(const Spec& spec);
  Result<void> try_add(const Spec& spec);
  void cancel(SequenceId id);

  /// Runs one step; returns it as text, such as "1@0+4 2@9+1*": sequence 1 computes four tokens
  /// from position 0, sequence 2 one from 9, which gives a row of logits (*2: two rows; "| 3>5:2":
  /// two tokens copied from block 3 to 5). Empty when there is nothing to do.
  std::string step();
  /// Runs steps until nothing is left; returns how many. Fails the test after `max_steps`.
  int run(int max_steps = 100000);

  /// Prompt and cap of an added sequence.
  [[nodiscard]] const Spec& spec(SequenceId id) const { return specs_.at(id); }
  [[nodiscard]] const std::vector<TokenId>& output(SequenceId id) { return outputs_[id]; }
  [[nodiscard]] bool is_finished(SequenceId id) const { return finished_.contains(id); }
  /// What a finished or cancelled sequence cost.
  [[nodiscard]] const SequenceStats& stats(SequenceId id) const { return finished_.at(id); }
  /// Rows of logits given to a sequence in all.
  [[nodiscard]] int num_rows(SequenceId id) { return num_rows_[id]; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] ManualClock& clock() { return clock_; }
  [[nodiscard]] const StepPlan& last_plan() const { return plan_; }
  /// Largest difference between two backlogged tenants seen, in tokens of the one ahead.
  [[nodiscard]] double largest_gap_tokens() const { return largest_gap_tokens_; }

 private:
  void check_step(const StepPlan& plan);
  void check_gap();

  SchedulerOptions options_;
  ManualClock clock_;
  Scheduler scheduler_;
  FakeModel model_;
  StepPlan plan_;
  std::uint64_t next_id_ = 1;
  std::map<SequenceId, Spec> specs_;
  std::map<SequenceId, std::vector<TokenId>> outputs_;
  std::map<SequenceId, SequenceStats> finished_;
  std::map<SequenceId, int> num_rows_;
  double largest_gap_tokens_ = 0;
};

}  // namespace paceline
