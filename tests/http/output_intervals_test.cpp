#include "http/output_intervals.h"

#include <gtest/gtest.h>

#include <chrono>

namespace paceline {
namespace {

using std::chrono::milliseconds;

TEST(OutputIntervalsTest, IntervalsAreThoseWithinOneChoice) {
  OutputIntervals intervals;
  const TimePoint start{};
  intervals.note(0, start);
  EXPECT_EQ(intervals.median_ms(), std::nullopt);

  intervals.note(1, start + milliseconds(500));
  intervals.note(0, start + milliseconds(10));
  intervals.note(0, start + milliseconds(40));
  intervals.note(1, start + milliseconds(520));

  EXPECT_EQ(intervals.median_ms(), 20);
  EXPECT_EQ(intervals.max_ms(), 30);
}

TEST(OutputIntervalsTest, LongRequestsKeepTheirMaximum) {
  OutputIntervals intervals;
  TimePoint now{};
  for (int i = 0; i < 10000; ++i) intervals.note(0, now += milliseconds(1));

  intervals.note(0, now + milliseconds(700));

  EXPECT_EQ(intervals.median_ms(), 1);
  EXPECT_EQ(intervals.max_ms(), 700);
}

}  // namespace
}  // namespace paceline
