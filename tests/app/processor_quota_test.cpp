#include "app/processor_quota.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ProcessorQuotaTest, QuotaIsTheShareOfThePeriod) {
  EXPECT_DOUBLE_EQ(*parse_cpu_max("200000 100000"), 2.0);
  EXPECT_DOUBLE_EQ(*parse_cpu_max("50000 100000\n"), 0.5);
}

TEST(ProcessorQuotaTest, TextWithoutAQuotaGivesNone) {
  for (const char* text : {"", " ", "max 100000", "-1 100000", "100000", "100000 0", "x y"}) {
    EXPECT_FALSE(parse_cpu_max(text)) << text;
  }
}

TEST(ProcessorQuotaTest, ThereIsAlwaysAtLeastOneProcessor) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace paceline
