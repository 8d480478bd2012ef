#include "scheduler/cost_model.h"

#include <gtest/gtest.h>

#include <random>

namespace paceline {
namespace {

StepWork work(int num_tokens, int start) {
  StepWork work;
  work.add(start, num_tokens);
  return work;
}

/// Duration on an imagined machine.
double true_ms(const StepWork& w, double base, double per_token, double per_attended) {
  return base + per_token * w.num_tokens + per_attended * w.num_attended;
}

TEST(CostModelTest, CountsWhatEachTokenAttendsTo) {
  StepWork w;
  w.add(0, 3);   // 1 + 2 + 3
  w.add(10, 2);  // 11 + 12

  EXPECT_EQ(w.num_tokens, 5);
  EXPECT_EQ(w.num_attended, 29);
}

TEST(CostModelTest, LearnsAMachineFromMixedNoisySteps) {
  struct Machine {
    double base, per_token, per_attended;
  };
  for (const Machine m : {Machine{20, 0.3, 1e-4}, Machine{2, 0.02, 1e-6}, Machine{80, 4, 1e-3}}) {
    CostModel model;
    std::mt19937 random(7);
    std::uniform_real_distribution<double> noise(0.95, 1.05);
    for (int i = 0; i < 300; ++i) {
      const StepWork w =
          work(1 + static_cast<int>(random() % 256), static_cast<int>(random() % 4000));
      model.observe(w, noise(random) * true_ms(w, m.base, m.per_token, m.per_attended));
    }

    for (const StepWork& w : {work(1, 100), work(32, 1000), work(128, 0), work(256, 4000)}) {
      const double expected = true_ms(w, m.base, m.per_token, m.per_attended);
      EXPECT_NEAR(model.predict_ms(w), expected, 0.15 * expected) << m.base;
    }
  }
}

TEST(CostModelTest, OneStallDoesNotTurnIt) {
  CostModel model;
  for (int i = 0; i < 200; ++i) model.observe(work(1 + i % 64, 500), 20 + 0.2 * (1 + i % 64));
  const double before = model.predict_ms(work(32, 500));

  model.observe(work(32, 500), 5000);

  EXPECT_LT(model.predict_ms(work(32, 500)), 1.5 * before);
}

TEST(CostModelTest, EndlessEqualStepsLeaveItSaneForOtherOnes) {
  CostModel model;
  for (int i = 0; i < 100000; ++i) model.observe(work(8, 1000), 30);

  EXPECT_NEAR(model.predict_ms(work(8, 1000)), 30, 0.5);
  const double larger = model.predict_ms(work(512, 1000));
  EXPECT_GT(larger, 30);
  EXPECT_LT(larger, 3000);
}

TEST(CostModelTest, MoreWorkIsNeverPredictedToBeFaster) {
  CostModel model;
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    model.observe(work(1 + static_cast<int>(random() % 300), static_cast<int>(random() % 9000)),
                  static_cast<double>(random() % 1000));
    ASSERT_LT(model.predict_ms(work(8, 1000)), model.predict_ms(work(9, 1000)));
    ASSERT_LE(model.predict_ms(work(8, 1000)), model.predict_ms(work(8, 2000)));
  }
}

}  // namespace
}  // namespace paceline
