#include "engine/rate_window.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TimePoint at(int seconds) { return TimePoint{std::chrono::seconds(seconds)}; }

TEST(RateWindowTest, AveragesOverTheTimeSinceTheStart) {
  RateWindow window;
  window.add(at(100), 50);
  window.add(at(104), 50);

  EXPECT_DOUBLE_EQ(window.per_second(at(110), at(100)), 10);
}

TEST(RateWindowTest, ForgetsWhatIsOlderThanThirtySeconds) {
  RateWindow window;
  window.add(at(100), 300);
  window.add(at(115), 600);

  EXPECT_DOUBLE_EQ(window.per_second(at(129), at(0)), 30);
  EXPECT_DOUBLE_EQ(window.per_second(at(130), at(0)), 20);
  EXPECT_DOUBLE_EQ(window.per_second(at(145), at(0)), 0);
}

TEST(RateWindowTest, ReusedSecondsStartAnew) {
  RateWindow window;
  window.add(at(100), 300);
  window.add(at(130), 30);

  EXPECT_DOUBLE_EQ(window.per_second(at(130), at(0)), 1);
}

TEST(RateWindowTest, FirstSecondIsNotDividedByLess) {
  RateWindow window;
  window.add(at(100), 30);

  EXPECT_DOUBLE_EQ(window.per_second(at(100), at(100)), 30);
}

}  // namespace
}  // namespace paceline
