#include "engine/cpu_model_runner.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/weights_loader.h"
#include "tests/support/memory_model.h"

namespace paceline {
namespace {

constexpr int kBlockSize = 16;

/// Moves on by one second whenever it is read.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    now_ += std::chrono::seconds(1);
    return now_;
  }

 private:
  mutable TimePoint now_{};
};

class CpuModelRunnerTest : public testing::Test {
 protected:
  CpuModelRunnerTest() {
    const ModelConfig& config = source_.config();
    Weights weights = load_weights(source_, config, {}, team_, {}).value().weights;
    const KvCacheLayout layout(config, KvElement::kInt8, weights.max_key_bias(config), kBlockSize);
    auto model =
        Qwen2Model::create(config, std::move(weights), {.max_tokens = 40, .max_logits_rows = 8}, 64,
                           {.team = team_, .clock = clock_});
    runner_ = std::make_unique<CpuModelRunner>(std::move(model.value()),
                                               KvCache::create(layout, 20).value());
  }

  /// Adds tokens [start, start + count) of a sequence to a plan.
  static void add(StepPlan& plan, const std::vector<TokenId>& tokens, int start, int count,
                  const std::vector<BlockId>& blocks, int num_logits_rows) {
    plan.sequences.push_back({.sequence = SequenceId{plan.sequences.size() + 1},
                              .first_token = static_cast<std::int32_t>(plan.token_ids.size()),
                              .num_tokens = count,
                              .start_position = start,
                              .first_block = static_cast<std::int32_t>(plan.block_ids.size()),
                              .num_blocks = static_cast<std::int32_t>(blocks.size()),
                              .first_logits_row = plan.num_logits_rows,
                              .num_logits_rows = num_logits_rows});
    plan.token_ids.insert(plan.token_ids.end(), tokens.begin() + start,
                          tokens.begin() + start + count);
    plan.block_ids.insert(plan.block_ids.end(), blocks.begin(), blocks.end());
    plan.num_logits_rows += num_logits_rows;
  }

  static std::vector<TokenId> tokens(int count, int first) {
    std::vector<TokenId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(TokenId{(first + 37 * i) % 200});
    return ids;
  }

  std::vector<float> row(const StepLogits& logits, int i) const {
    const auto values = logits.row(i, 200);
    return {values.begin(), values.end()};
  }

  /// Logits after the last token of a sequence computed alone, in one step.
  std::vector<float> last_row_alone(const std::vector<TokenId>& ids) {
    StepPlan plan;
    add(plan, ids, 0, static_cast<int>(ids.size()), {BlockId{17}, BlockId{18}, BlockId{19}}, 1);
    return row(runner_->run(plan).value(), 0);
  }

  const MemoryModel source_{MemoryModel::small_config(), 5};
  const TickingClock clock_;
  ThreadPool team_{2};
  std::unique_ptr<CpuModelRunner> runner_;
};

TEST_F(CpuModelRunnerTest, MixedStepGivesLogitsInPlanOrder) {
  const auto a = tokens(20, 1);
  const auto b = tokens(10, 2);
  const std::vector<float> expected_a = last_row_alone(a);
  const std::vector<float> expected_b = last_row_alone(b);
  const std::vector<float> expected_b_before = last_row_alone(tokens(9, 2));
  StepPlan first;
  add(first, a, 0, 19, {BlockId{3}, BlockId{0}}, 0);
  ASSERT_TRUE(runner_->run(first).has_value());

  StepPlan second;
  add(second, b, 0, 10, {BlockId{7}}, 2);
  add(second, a, 19, 1, {BlockId{3}, BlockId{0}}, 1);
  const StepLogits logits = runner_->run(second).value();

  ASSERT_EQ(logits.num_rows, 3);
  EXPECT_EQ(row(logits, 0), expected_b_before);
  EXPECT_EQ(row(logits, 1), expected_b);
  EXPECT_EQ(row(logits, 2), expected_a);
}

TEST_F(CpuModelRunnerTest, BlocksAreCopiedBeforeTheStep) {
  const auto a = tokens(20, 1);
  const std::vector<float> expected = last_row_alone(a);
  StepPlan first;
  add(first, a, 0, 10, {BlockId{3}}, 0);
  ASSERT_TRUE(runner_->run(first).has_value());

  StepPlan second;
  second.copies.push_back({.source = BlockId{3}, .target = BlockId{5}, .num_tokens = 10});
  add(second, a, 10, 10, {BlockId{5}, BlockId{6}}, 1);
  const StepLogits logits = runner_->run(second).value();

  EXPECT_EQ(row(logits, 0), expected);
}

TEST_F(CpuModelRunnerTest, EmptyPlanGivesNoRows) {
  const auto logits = runner_->run({});

  ASSERT_TRUE(logits.has_value());
  EXPECT_EQ(logits->num_rows, 0);
}

TEST_F(CpuModelRunnerTest, TimeIsReportedByPart) {
  StepPlan plan;
  add(plan, tokens(5, 1), 0, 5, {BlockId{0}}, 1);

  const StepLogits logits = runner_->run(plan).value();

  // Two layers of four products and one attention, one head; each reads the clock twice.
  EXPECT_EQ(logits.linear_seconds, 8);
  EXPECT_EQ(logits.attention_seconds, 2);
  EXPECT_EQ(logits.lm_head_seconds, 1);
}

TEST_F(CpuModelRunnerTest, PlansBeyondTheLimitsAreRefusedAndTheRunnerGoesOn) {
  const auto ids = tokens(64, 1);
  const std::vector<float> expected = last_row_alone(tokens(20, 1));
  const std::vector<BlockId> four{BlockId{0}, BlockId{1}, BlockId{2}, BlockId{3}};
  const std::vector<std::pair<std::string, std::function<void(StepPlan&)>>> cases{
      {"tokens", [&](StepPlan& p) { add(p, ids, 0, 41, four, 1); }},
      {"logits rows", [&](StepPlan& p) { add(p, ids, 0, 20, four, 9); }},
      {"more logits rows than tokens", [&](StepPlan& p) { add(p, ids, 0, 2, four, 3); }},
      {"no tokens", [&](StepPlan& p) { add(p, ids, 0, 0, four, 0); }},
      {"context",
       [&](StepPlan& p) {
         add(p, ids, 63, 1, four, 1);
         p.sequences[0].start_position = 64;
       }},
      {"blocks that do not cover", [&](StepPlan& p) { add(p, ids, 0, 17, {BlockId{0}}, 1); }},
      {"block id", [&](StepPlan& p) { add(p, ids, 0, 5, {BlockId{20}}, 1); }},
      {"token id",
       [&](StepPlan& p) {
         add(p, ids, 0, 5, four, 1);
         p.token_ids[2] = TokenId{200};
       }},
      {"tokens outside of the plan",
       [&](StepPlan& p) {
         add(p, ids, 0, 5, four, 1);
         p.sequences[0].first_token = 1;
       }},
      {"copy", [&](StepPlan& p) {
         p.copies.push_back({.source = BlockId{0}, .target = BlockId{20}, .num_tokens = 1});
       }}};

  for (const auto& [name, make] : cases) {
    StepPlan plan;
    make(plan);
    const auto result = runner_->run(plan);
    ASSERT_FALSE(result.has_value()) << name;
    EXPECT_EQ(result.error().code, ErrorCode::kEngineError) << name;
  }
  EXPECT_EQ(last_row_alone(tokens(20, 1)), expected);
}

}  // namespace
}  // namespace paceline
