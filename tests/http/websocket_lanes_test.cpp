#include "http/websocket_lanes.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

QueuedCreate create(const LaneName& lane, std::size_t bytes = 10) {
  QueuedCreate create;
  create.lane = lane;
  create.bytes = bytes;
  return create;
}

WebsocketLanes::Limits small_limits() {
  WebsocketLanes::Limits limits;
  limits.max_named_lanes = 3;
  limits.max_running = 2;
  limits.max_pending = 2;
  limits.max_pending_bytes = 100;
  return limits;
}

/// Lanes of the creates that can be started now, in order.
std::string started(WebsocketLanes& lanes) {
  std::string names;
  while (auto ready = lanes.take_ready()) names += ready->lane.value_or("-");
  return names;
}

TEST(WebsocketLanesTest, OneCreateRunsInALane) {
  WebsocketLanes lanes(small_limits());
  ASSERT_TRUE(lanes.add(create("a")));
  EXPECT_EQ(started(lanes), "a");
  ASSERT_TRUE(lanes.add(create("a")));
  EXPECT_EQ(started(lanes), "");

  lanes.finish("a");

  EXPECT_EQ(started(lanes), "a");
}

TEST(WebsocketLanesTest, LanesShareTheNumberThatRuns) {
  WebsocketLanes lanes(small_limits());
  for (const char* lane : {"a", "b"}) ASSERT_TRUE(lanes.add(create(lane)));
  EXPECT_EQ(started(lanes), "ab");
  ASSERT_TRUE(lanes.add(create("c")));
  ASSERT_TRUE(lanes.add(create(std::nullopt)));
  EXPECT_EQ(started(lanes), "");

  lanes.finish("b");
  EXPECT_EQ(started(lanes), "c");
  lanes.finish("a");

  EXPECT_EQ(started(lanes), "-");
}

TEST(WebsocketLanesTest, CreateBehindABusyLaneDoesNotHoldUpOthers) {
  WebsocketLanes lanes(small_limits());
  ASSERT_TRUE(lanes.add(create("a")));
  EXPECT_EQ(started(lanes), "a");
  ASSERT_TRUE(lanes.add(create("a")));
  ASSERT_TRUE(lanes.add(create("b")));

  EXPECT_EQ(started(lanes), "b");
}

TEST(WebsocketLanesTest, WaitingCreatesAreBoundedInNumberAndBytes) {
  WebsocketLanes lanes(small_limits());
  ASSERT_TRUE(lanes.add(create("a", 1000)));  // runs at once, so its size does not matter
  EXPECT_EQ(started(lanes), "a");
  ASSERT_TRUE(lanes.add(create("a", 90)));
  const auto too_large = lanes.add(create("a", 11));
  ASSERT_TRUE(lanes.add(create("a", 10)));
  const auto too_many = lanes.add(create("a", 0));

  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kWebsocketQueueFull);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::kWebsocketQueueFull);
  EXPECT_TRUE(lanes.add(create("b", 1000)));
}

TEST(WebsocketLanesTest, NamesAreCountedOverTheWholeLife) {
  WebsocketLanes lanes(small_limits());
  for (const char* lane : {"a", "b", "c"}) {
    ASSERT_TRUE(lanes.add(create(lane)));
    EXPECT_EQ(started(lanes), lane);
    lanes.finish(lane);
  }
  ASSERT_TRUE(lanes.add(create(std::nullopt)));
  ASSERT_TRUE(lanes.add(create("a")));

  const auto refused = lanes.add(create("d"));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kWebsocketStreamLimitReached);
  EXPECT_EQ(lanes.num_lanes(), 4U);
}

TEST(WebsocketLanesTest, PendingCreatesOfALaneCanBeTaken) {
  WebsocketLanes lanes(small_limits());
  ASSERT_TRUE(lanes.add(create("a")));
  EXPECT_EQ(started(lanes), "a");
  ASSERT_TRUE(lanes.add(create("a")));
  ASSERT_TRUE(lanes.add(create("b")));

  EXPECT_EQ(lanes.take_pending("a").size(), 1U);
  EXPECT_TRUE(lanes.take_pending(std::nullopt).empty());
  lanes.finish("a");

  EXPECT_EQ(started(lanes), "b");
  lanes.finish("b");
  EXPECT_TRUE(lanes.is_idle());
}

}  // namespace
}  // namespace paceline
