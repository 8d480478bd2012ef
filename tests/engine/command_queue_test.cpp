#include "engine/command_queue.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

Submission submission(std::uint64_t id) {
  Submission out;
  out.request.id = RequestId{id};
  return out;
}

TEST(CommandQueueTest, SubmissionsAreBounded) {
  CommandQueue queue(2);

  EXPECT_TRUE(queue.submit(submission(1)).has_value());
  EXPECT_TRUE(queue.submit(submission(2)).has_value());
  const auto third = queue.submit(submission(3));

  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::kServerOverloaded);
  EXPECT_EQ(queue.take().submissions.size(), 2U);
  EXPECT_TRUE(queue.submit(submission(4)).has_value());
}

TEST(CommandQueueTest, CancelsOfLiveRequestsAreKeptOncePerRequest) {
  CommandQueue queue(1);
  ASSERT_TRUE(queue.submit(submission(1)).has_value());

  queue.cancel(RequestId{1}, CancelCause::kApi);
  queue.cancel(RequestId{1}, CancelCause::kAdmin);
  queue.cancel(RequestId{2}, CancelCause::kApi);
  queue.resume(RequestId{1});
  queue.resume(RequestId{1});
  queue.resume(RequestId{2});

  const Commands commands = queue.take();
  ASSERT_EQ(commands.cancellations.size(), 1U);
  EXPECT_EQ(commands.cancellations.at(RequestId{1}), CancelCause::kApi);
  EXPECT_EQ(commands.resumptions.size(), 1U);
}

TEST(CommandQueueTest, ForgottenRequestsLeaveNothingBehind) {
  CommandQueue queue(1);
  ASSERT_TRUE(queue.submit(submission(1)).has_value());
  static_cast<void>(queue.take());
  queue.cancel(RequestId{1}, CancelCause::kApi);

  queue.forget(RequestId{1});
  queue.cancel(RequestId{1}, CancelCause::kApi);

  EXPECT_TRUE(queue.take().cancellations.empty());
}

TEST(CommandQueueTest, RepeatedDrainsOnlyShortenTheDeadline) {
  CommandQueue queue(1);
  const TimePoint early{std::chrono::seconds(1)};
  const TimePoint late{std::chrono::seconds(2)};

  queue.drain(late);
  queue.drain(early);
  queue.drain(late);

  EXPECT_EQ(queue.take().drain_deadline, early);
}

TEST(CommandQueueTest, DrainedMeansDrainingAndWithoutLiveRequests) {
  CommandQueue queue(1);
  EXPECT_FALSE(queue.is_drained());
  ASSERT_TRUE(queue.submit(submission(1)).has_value());

  queue.drain(TimePoint{});
  EXPECT_FALSE(queue.is_drained());
  const auto refused = queue.submit(submission(2));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kServerDraining);

  queue.forget(RequestId{1});
  EXPECT_TRUE(queue.is_drained());
}

TEST(CommandQueueTest, WaitReturnsAtOnceWhenSomethingWaits) {
  CommandQueue queue(1);

  queue.stop();
  queue.wait(std::nullopt);

  EXPECT_TRUE(queue.take().is_stopping);
}

TEST(CommandQueueTest, WaitEndsAtItsTimeout) {
  CommandQueue queue(1);

  queue.wait(Duration::zero());

  EXPECT_FALSE(queue.take().is_stopping);
}

}  // namespace
}  // namespace paceline
