#include "engine/deadline_queue.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Kind = DeadlineQueue::Kind;

TimePoint at(int seconds) { return TimePoint{std::chrono::seconds(seconds)}; }

TEST(DeadlineQueueTest, TakesWhatHasExpiredInOrder) {
  DeadlineQueue queue;
  queue.add(RequestId{1}, Kind::kTotal, at(3));
  queue.add(RequestId{2}, Kind::kQueue, at(1));
  queue.add(RequestId{3}, Kind::kTotal, at(2));

  EXPECT_EQ(queue.nearest(), at(1));
  const auto expired = queue.take_expired(at(2));

  ASSERT_EQ(expired.size(), 2U);
  EXPECT_EQ(expired[0].request, RequestId{2});
  EXPECT_EQ(expired[0].kind, Kind::kQueue);
  EXPECT_EQ(expired[1].request, RequestId{3});
  EXPECT_EQ(queue.nearest(), at(3));
}

TEST(DeadlineQueueTest, RemovedLimitsDoNotExpire) {
  DeadlineQueue queue;
  queue.add(RequestId{1}, Kind::kTotal, at(1));
  queue.add(RequestId{1}, Kind::kQueue, at(1));

  queue.remove(RequestId{1}, Kind::kQueue, at(1));
  queue.remove(RequestId{2}, Kind::kTotal, at(1));

  const auto expired = queue.take_expired(at(5));
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].kind, Kind::kTotal);
  EXPECT_EQ(queue.nearest(), std::nullopt);
}

}  // namespace
}  // namespace paceline
