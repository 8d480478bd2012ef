#include "scheduler/fair_queue.h"

#include <gmock/gmock.h>

#include <vector>

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr TenantId kA{0};
constexpr TenantId kB{1};
constexpr TenantId kC{2};

FairQueue::Place place(std::uint64_t arrival, int priority = 0, bool is_fresh = true) {
  return {is_fresh, priority, arrival, SequenceId{arrival}};
}

/// Queue with one waiting sequence for each of the first `num_tenants`.
FairQueue queue_with(unsigned num_tenants, std::int64_t max_gap = 1000) {
  FairQueue queue(max_gap);
  for (unsigned i = 0; i < num_tenants; ++i) {
    queue.enter(TenantId{i});
    queue.push(TenantId{i}, place(i));
  }
  queue.update_backlog({});
  return queue;
}

TEST(FairQueueTest, PreemptedThenPriorityThenArrivalInsideATenant) {
  FairQueue queue(1000);
  queue.enter(kA);
  queue.push(kA, place(3));
  queue.push(kA, place(2));
  queue.push(kA, place(4, -1));
  queue.push(kA, place(5, 7, false));

  std::vector<std::uint64_t> order;
  for (const auto& p : queue.waiting(kA)) order.push_back(p.arrival);

  EXPECT_THAT(order, ElementsAre(5, 4, 2, 3));
}

TEST(FairQueueTest, LeastServedTenantIsNextByWeight) {
  FairQueue queue = queue_with(2);
  queue.set_weight(kB, 4);

  queue.charge(kA, 100);
  queue.charge(kB, 300);
  queue.begin_round({});
  EXPECT_EQ(queue.next(), kB);

  queue.charge(kB, 200);
  queue.begin_round({});
  EXPECT_EQ(queue.next(), kA);
}

TEST(FairQueueTest, PlannedServiceCountsWithinTheRound) {
  FairQueue queue = queue_with(2);
  queue.begin_round({});
  ASSERT_EQ(queue.next(), kA);

  queue.plan_next(10);
  EXPECT_EQ(queue.next(), kB);
  queue.plan_next(20);
  EXPECT_EQ(queue.next(), kA);

  queue.drop_planned();
  EXPECT_EQ(queue.view(kA).counter, 0);
  queue.drop_next();
  queue.drop_next();
  EXPECT_EQ(queue.next(), std::nullopt);
}

TEST(FairQueueTest, NewlyActiveTenantStartsAtTheLeastOfTheActiveOnes) {
  FairQueue queue = queue_with(2);
  queue.charge(kA, 500);
  queue.charge(kB, 300);

  queue.enter(kC);

  EXPECT_EQ(queue.view(kC).counter, 300);
}

TEST(FairQueueTest, TenantThatComesAfterAllHaveLeftStartsWhereTheLastOneStood) {
  FairQueue queue(1000);
  queue.enter(kA);
  queue.charge(kA, 500);
  queue.leave(kA);

  queue.enter(kB);

  EXPECT_EQ(queue.view(kB).counter, 500);
}

TEST(FairQueueTest, TenantAGapAheadIsHeldUntilTheOtherHasCaughtUp) {
  FairQueue queue = queue_with(2, 100);
  queue.charge(kA, 100);
  EXPECT_EQ(queue.update_held(), std::nullopt);

  queue.charge(kA, 1);
  EXPECT_EQ(queue.update_held(), kB);
  EXPECT_TRUE(queue.is_held(kA));
  queue.begin_round({});
  EXPECT_EQ(queue.next(), kB);

  queue.charge(kB, 1);
  EXPECT_EQ(queue.update_held(), std::nullopt);
  EXPECT_FALSE(queue.is_held(kA));
}

TEST(FairQueueTest, NobodyIsHeldForATenantThatIsNotBacklogged) {
  FairQueue queue(100);
  queue.enter(kA);
  queue.enter(kB);
  queue.push(kA, place(1));
  queue.update_backlog({});

  queue.charge(kA, 5000);

  EXPECT_EQ(queue.update_held(), std::nullopt);
}

TEST(FairQueueTest, ServiceMissedWithoutBacklogCountsForOneGap) {
  FairQueue queue(100);
  queue.enter(kA);
  queue.enter(kB);
  queue.push(kA, place(1));
  queue.update_backlog({});
  queue.charge(kA, 5000);

  queue.push(kB, place(2));
  queue.update_backlog({});

  EXPECT_EQ(queue.view(kB).counter, 4900);
  EXPECT_EQ(queue.gap(), 100);
}

TEST(FairQueueTest, ServiceTakenWithoutCompetitionCountsForOneGap) {
  FairQueue queue(100);
  queue.enter(kA);
  queue.charge(kA, 5000);
  queue.enter(kC);
  queue.leave(kA);
  queue.leave(kC);
  FairQueue::Place waiting = place(1);
  queue.enter(kB);
  queue.push(kB, waiting);
  queue.update_backlog({});
  const double start = queue.view(kB).counter;
  queue.charge(kA, 9000);

  queue.enter(kA);

  EXPECT_EQ(queue.view(kA).counter, start + 100);
}

TEST(FairQueueTest, WeightScalesTheGap) {
  FairQueue queue = queue_with(2, 100);
  queue.set_weight(kA, 4);

  queue.charge(kA, 100);
  EXPECT_EQ(queue.update_held(), std::nullopt);
  queue.charge(kA, 4);
  EXPECT_EQ(queue.update_held(), kB);
}

}  // namespace
}  // namespace paceline
