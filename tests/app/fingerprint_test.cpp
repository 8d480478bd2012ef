#include "app/fingerprint.h"

#include <gmock/gmock.h>

namespace paceline {
namespace {

TEST(FingerprintTest, HasTheDocumentedForm) {
  EXPECT_THAT(system_fingerprint({"a", "b"}), testing::MatchesRegex("fp_[0-9a-f]{12}"));
}

TEST(FingerprintTest, EqualPartsGiveEqualText) {
  EXPECT_EQ(system_fingerprint({"a", "b"}), system_fingerprint({"a", "b"}));
}

TEST(FingerprintTest, EveryPartAndItsPlaceCounts) {
  const std::string base = system_fingerprint({"ab", "c"});

  EXPECT_NE(base, system_fingerprint({"a", "bc"}));
  EXPECT_NE(base, system_fingerprint({"c", "ab"}));
  EXPECT_NE(base, system_fingerprint({"ab", "c", ""}));
}

}  // namespace
}  // namespace paceline
