#include "engine/output_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace paceline {
namespace {

ChoiceDelta delta_of(std::string text) {
  ChoiceDelta delta;
  delta.text = std::move(text);
  return delta;
}

TEST(OutputStreamTest, EventsComeInOrder) {
  OutputStream stream(std::make_shared<OutputBudget>(1000), {});
  stream.push(delta_of("a"));
  stream.push(delta_of("b"));

  EXPECT_EQ(std::get<ChoiceDelta>(*stream.try_pop()).text, "a");
  EXPECT_EQ(std::get<ChoiceDelta>(*stream.try_pop()).text, "b");
  EXPECT_FALSE(stream.try_pop().has_value());
}

TEST(OutputStreamTest, WakesOnlyWhenItStopsBeingEmpty) {
  int num_wakes = 0;
  OutputStream stream(std::make_shared<OutputBudget>(1000), [&] { ++num_wakes; });

  stream.push(delta_of("a"));
  stream.push(delta_of("b"));
  EXPECT_EQ(num_wakes, 1);

  static_cast<void>(stream.try_pop());
  static_cast<void>(stream.try_pop());
  stream.push(delta_of("c"));
  EXPECT_EQ(num_wakes, 2);
}

TEST(OutputStreamTest, WakeMayReadTheStream) {
  OutputStream* self = nullptr;
  std::string seen;
  OutputStream stream(std::make_shared<OutputBudget>(1000),
                      [&] { seen = std::get<ChoiceDelta>(*self->try_pop()).text; });
  self = &stream;

  stream.push(delta_of("a"));

  EXPECT_EQ(seen, "a");
}

TEST(OutputStreamTest, BudgetHoldsWhatIsQueued) {
  const auto budget = std::make_shared<OutputBudget>(4000);
  OutputStream stream(budget, {});

  stream.push(delta_of(std::string(5000, 'x')));
  EXPECT_TRUE(budget->is_over_limit());
  EXPECT_GE(budget->used_bytes(), 5000U);

  static_cast<void>(stream.try_pop());
  EXPECT_TRUE(budget->is_below_half());
  EXPECT_EQ(budget->used_bytes(), 0U);
}

TEST(OutputStreamTest, LogprobsWeighInTheBudget) {
  const auto budget = std::make_shared<OutputBudget>(1000);
  OutputStream stream(budget, {});
  ChoiceDelta delta = delta_of("a");
  delta.logprobs.push_back({{"a", -1}, std::vector<LogprobText>(20, {std::string(100, 'x'), -1})});

  stream.push(std::move(delta));

  EXPECT_GT(budget->used_bytes(), 2000U);
}

TEST(OutputStreamTest, ClosedStreamDropsEverything) {
  const auto budget = std::make_shared<OutputBudget>(1000);
  int num_wakes = 0;
  OutputStream stream(budget, [&] { ++num_wakes; });
  stream.push(delta_of("a"));

  stream.close();
  stream.push(delta_of("b"));

  EXPECT_FALSE(stream.try_pop().has_value());
  EXPECT_EQ(num_wakes, 1);
  EXPECT_EQ(budget->used_bytes(), 0U);
}

TEST(OutputStreamTest, DestroyedStreamGivesItsBudgetBack) {
  const auto budget = std::make_shared<OutputBudget>(1000);
  {
    OutputStream stream(budget, {});
    stream.push(delta_of("a"));
  }

  EXPECT_EQ(budget->used_bytes(), 0U);
}

}  // namespace
}  // namespace paceline
