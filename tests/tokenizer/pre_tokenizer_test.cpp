#include "tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace paceline {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words words;
  PreTokenizer::make("qwen2")->split(text, [&words](std::string_view word) {
    words.emplace_back(word);
    return true;
  });
  return words;
}

TEST(PreTokenizerTest, SplitsAsTheQwen2Pattern) {
  struct Case {
    std::string_view text;
    Words words;
  };
  const Case cases[] = {
      {"", {}},
      {"Hello, world", {"Hello", ",", " world"}},
      {"I'll he'S we'RE", {"I", "'ll", " he", "'S", " we", "'RE"}},
      {"x'\u017F", {"x", "'\u017F"}},
      {"12 345", {"1", "2", " ", "3", "4", "5"}},
      {"a  b", {"a", " ", " b"}},
      {"a   ", {"a", "   "}},
      {"a \n  b", {"a", " \n", " ", " b"}},
      {"!!!\n\n\nx", {"!!!\n\n\n", "x"}},
      {"(x):\r\n", {"(x", "):\r\n"}},
      {"\u4F60\u597D\uFF0C\u4E16", {"\u4F60\u597D", "\uFF0C\u4E16"}},
      {"\u00BD\u2167\u0663", {"\u00BD", "\u2167", "\u0663"}},
      {"_a__b", {"_a", "__", "b"}},
  };
  for (const Case& c : cases) EXPECT_EQ(split(c.text), c.words) << c.text;
}

TEST(PreTokenizerTest, WhiteSpaceIsThatOfUnicode) {
  // U+180E is white space for PCRE2 alone; U+0085 and U+3000 are for both.
  EXPECT_EQ(split("\u180E!"), (Words{"\u180E!"}));
  EXPECT_EQ(split("!\u0085!"), (Words{"!", "\u0085", "!"}));
  EXPECT_EQ(split("!\u3000!"), (Words{"!", "\u3000", "!"}));
}

TEST(PreTokenizerTest, LettersAndNumbersAreThoseOfUnicode16) {
  EXPECT_EQ(split("a\U00031350\U00010D4A"), (Words{"a\U00031350\U00010D4A"}));  // Unicode 15, 16
  EXPECT_EQ(split("\U00010D40\U0001E4F0"), (Words{"\U00010D40", "\U0001E4F0"}));
}

TEST(PreTokenizerTest, StopsWhenTheVisitorHasEnough) {
  Words words;

  PreTokenizer::make("")->split("a b c", [&words](std::string_view word) {
    words.emplace_back(word);
    return words.size() < 2;
  });

  EXPECT_EQ(words, (Words{"a", " b"}));
}

TEST(PreTokenizerTest, LongRunsOfOneKindAreLinear) {
  constexpr std::size_t kLength = 400'000;
  const auto start = std::chrono::steady_clock::now();

  for (const std::string unit :
       {"A", "1", " ", "\n", " \n", "!", "\u0301", "'", "\u4F60", "\u3000"}) {
    std::string text;
    while (text.size() < kLength) text += unit;
    std::size_t total = 0;
    for (const std::string& word : split(text + "x")) total += word.size();
    EXPECT_EQ(total, text.size() + 1) << unit;
  }

  // Quadratic work would be 10^11 steps for each.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(PreTokenizerTest, UnknownPatternIsAnErrorThatNamesIt) {
  const auto result = PreTokenizer::make("llama-bpe");

  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kBadFile);
  EXPECT_THAT(result.error().message, testing::HasSubstr("llama-bpe"));
}

}  // namespace
}  // namespace paceline
