#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {
namespace {

struct Case {
  std::string_view bytes;
  std::string_view lossy;
};

// The examples of Unicode 15, tables 3-8 to 3-11, and the borders of table 3-7.
constexpr Case kIllFormed[] = {
    {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
    {"\xC1\xBF", "\uFFFD\uFFFD"},
    {"\xF5\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
    {"ab\xE4\xBD", "ab\uFFFD"},
    {"\xF0\x9F\x98", "\uFFFD"},
};

constexpr std::string_view kWellFormed[] = {
    {}, "plain", {"a\0b", 3}, "\u0080\u07FF\u0800\uD7FF\uE000\uFFFF", "\U00010000\U0010FFFF",
};

TEST(Utf8Test, WellFormedTextIsValidAndStaysAsItIs) {
  for (const std::string_view text : kWellFormed) {
    EXPECT_TRUE(is_valid_utf8(text)) << text;
    EXPECT_EQ(to_lossy_utf8(text), text);
    EXPECT_EQ(complete_utf8_length(text), text.size());
  }
}

TEST(Utf8Test, EachMaximalIllFormedPartBecomesOneReplacementCharacter) {
  for (const Case& c : kIllFormed) {
    EXPECT_FALSE(is_valid_utf8(c.bytes));
    EXPECT_EQ(to_lossy_utf8(c.bytes), c.lossy);
  }
}

TEST(Utf8Test, BeginningOfACharacterIsLeftUntilMoreBytesCome) {
  EXPECT_EQ(complete_utf8_length("ab\xE4\xBD"), 2U);
  EXPECT_EQ(complete_utf8_length("\xF0\x9F\x98"), 0U);
  EXPECT_EQ(complete_utf8_length("\xC3"), 0U);
  EXPECT_EQ(complete_utf8_length("\xF0\x9F\x98\x80"), 4U);
}

TEST(Utf8Test, BytesThatCannotBecomeACharacterCountAsComplete) {
  EXPECT_EQ(complete_utf8_length("a\x80"), 2U);
  EXPECT_EQ(complete_utf8_length("\xE0\x80"), 2U);
  EXPECT_EQ(complete_utf8_length("\xFF"), 1U);
  EXPECT_EQ(complete_utf8_length("\xED\xA0"), 2U);
}

TEST(Utf8Test, LossyTextDoesNotDependOnWhereThePiecesAreCut) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  const std::string_view parts[] = {
      "a",    "\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80", "\xE4\xBD", "\xF0\x9F",
      "\x80", "\xFF",     "\xED\xA0",     "\xF4\x90\x80\x80", "\xC0",     "\xE0"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += parts[random() % std::size(parts)];

    std::string pieces;
    std::string pending;
    for (const char c : bytes) {
      pending.push_back(c);
      const std::size_t length = complete_utf8_length(pending);
      pieces += to_lossy_utf8(std::string_view(pending).substr(0, length));
      pending.erase(0, length);
      ASSERT_LE(pending.size(), 3U);
    }
    pieces += to_lossy_utf8(pending);

    ASSERT_EQ(pieces, to_lossy_utf8(bytes)) << "seed " << kSeed << ", round " << round;
    ASSERT_TRUE(is_valid_utf8(pieces));
  }
}

}  // namespace
}  // namespace paceline
