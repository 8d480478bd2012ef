#include "tests/scheduler/scheduler_harness.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "scheduler/admission.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

/// Duration of a step on the imagined machine.
Duration step_time(const StepPlan& plan) {
  double ms = 4 + 0.1 * static_cast<double>(plan.token_ids.size());
  for (const SequenceStep& s : plan.sequences) ms += 1e-5 * s.num_tokens * s.start_position;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

std::string describe(const StepPlan& plan) {
  std::string text;
  for (const SequenceStep& s : plan.sequences) {
    if (!text.empty()) text += ' ';
    text += std::to_string(raw(s.sequence)) + '@' + std::to_string(s.start_position) + '+' +
            std::to_string(s.num_tokens);
    if (s.num_logits_rows > 0) text += '*';
    if (s.num_logits_rows > 1) text += std::to_string(s.num_logits_rows);
  }
  for (const BlockCopy& copy : plan.copies) {
    text += " | " + std::to_string(raw(copy.source)) + '>' + std::to_string(raw(copy.target)) +
            ':' + std::to_string(copy.num_tokens);
  }
  return text;
}

}  // namespace

std::vector<TokenId> token_run(int first, int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(TokenId{first + i});
  return tokens;
}

std::vector<TokenId> join(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

SchedulerOptions plain_options(int num_blocks, int block_size) {
  SchedulerOptions options;
  options.block_size = block_size;
  options.num_blocks = num_blocks;
  options.max_context = 1'000'000;
  options.min_chunk_tokens = 1;
  options.target_step_ms = 1e9;
  return options;
}

SchedulerHarness::SchedulerHarness(const SchedulerOptions& options, BlockHashFunction hash)
    : options_(options),
      scheduler_(options, clock_, hash),
      model_(options.num_blocks, options.block_size) {}

SequenceId SchedulerHarness::add(const Spec& spec) {
  const SequenceId id{next_id_};
  const Result<void> added = try_add(spec);
  EXPECT_TRUE(added) << added.error().message;
  return id;
}

Result<void> SchedulerHarness::try_add(const Spec& spec) {
  const SequenceId id{next_id_};
  NewSequence sequence{.id = id,
                       .request = RequestId{next_id_},
                       .tenant = TenantId{spec.tenant},
                       .prompt = spec.prompt,
                       .max_new_tokens = spec.max_new_tokens,
                       .priority = spec.priority,
                       .prompt_logprobs = spec.prompt_logprobs,
                       .cache_salt = spec.cache_salt,
                       .after = spec.after};
  std::vector<NewSequence> sequences;
  sequences.push_back(std::move(sequence));
  const Result<void> added = scheduler_.add(std::move(sequences));
  if (added) {
    ++next_id_;
    specs_.emplace(id, spec);
  }
  EXPECT_THAT(scheduler_.check_invariants(), IsEmpty());
  return added;
}

void SchedulerHarness::cancel(SequenceId id) {
  if (auto stats = scheduler_.cancel(id)) finished_.emplace(id, std::move(*stats));
  EXPECT_THAT(scheduler_.check_invariants(), IsEmpty());
}

std::string SchedulerHarness::step() {
  const bool has_work = scheduler_.has_work();
  const StepPlan& plan = scheduler_.schedule();
  EXPECT_EQ(has_work, !plan.empty()) << "idle with work, or the other way round";
  EXPECT_THAT(scheduler_.check_invariants(), IsEmpty());
  plan_ = plan;
  if (plan.empty()) return "";
  check_step(plan);

  const auto tokens = model_.run(plan);
  std::vector<StepResult> results;
  for (const SequenceStep& s : plan.sequences) {
    num_rows_[s.sequence] += s.num_logits_rows;
    const Sequence& sequence = *scheduler_.find(s.sequence);
    if (s.start_position + s.num_tokens < sequence.num_tokens()) continue;
    StepResult result{.sequence = s.sequence};
    const Spec& wanted = specs_.at(s.sequence);
    if (wanted.max_new_tokens > 0) {
      result.has_token = true;
      result.token = tokens.at(s.sequence);
      outputs_[s.sequence].push_back(result.token);
    }
    result.finished = static_cast<int>(outputs_[s.sequence].size()) >= wanted.max_new_tokens;
    results.push_back(result);
  }
  const Duration duration = step_time(plan);
  clock_.advance(duration);
  scheduler_.commit(results, duration);
  for (const auto& retired : scheduler_.retired()) {
    finished_.emplace(retired.sequence, retired.stats);
  }
  EXPECT_THAT(scheduler_.check_invariants(), IsEmpty());
  check_gap();
  return describe(plan_);
}

int SchedulerHarness::run(int max_steps) {
  int num_steps = 0;
  while (!step().empty()) {
    if (++num_steps > max_steps || ::testing::Test::HasFailure()) {
      ADD_FAILURE() << "not done after " << num_steps << " steps";
      break;
    }
  }
  return num_steps;
}

void SchedulerHarness::check_step(const StepPlan& plan) {
  EXPECT_LE(static_cast<int>(plan.token_ids.size()), options_.max_step_tokens);
  EXPECT_LE(plan.num_logits_rows, options_.max_logits_rows);
  EXPECT_LE(static_cast<int>(plan.sequences.size()), max_batch_size(options_));
  std::set<SequenceId> seen;
  std::set<BlockId> written;
  for (const SequenceStep& s : plan.sequences) {
    EXPECT_TRUE(seen.insert(s.sequence).second);
    EXPECT_EQ(s.num_blocks, blocks_for(s.start_position + s.num_tokens, options_.block_size));
    for (int i = s.start_position / options_.block_size; i < s.num_blocks; ++i) {
      EXPECT_TRUE(written.insert(plan.blocks_of(s)[static_cast<std::size_t>(i)]).second)
          << "two sequences write one block";
    }
  }
  for (const BlockCopy& copy : plan.copies) {
    EXPECT_FALSE(written.contains(copy.source)) << "a block is copied from and written";
  }
}

void SchedulerHarness::check_gap() {
  const SchedulerSnapshot snapshot = scheduler_.snapshot();
  const double step_charge = options_.max_step_tokens + 2.0 * max_batch_size(options_);
  for (const auto& ahead : snapshot.tenants) {
    for (const auto& behind : snapshot.tenants) {
      if (!ahead.is_backlogged || !behind.is_backlogged) continue;
      const double gap_tokens = (ahead.virtual_counter - behind.virtual_counter) * ahead.weight;
      largest_gap_tokens_ = std::max(largest_gap_tokens_, gap_tokens);
      EXPECT_LE(gap_tokens, static_cast<double>(options_.max_gap_tokens) + step_charge);
    }
  }
}

}  // namespace paceline
