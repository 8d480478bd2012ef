#include "tokenizer/stop_matcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace paceline {
namespace {

using Strings = std::vector<std::string>;

struct Outcome {
  std::string shown;
  std::optional<std::size_t> matched;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Strings& stops, const Strings& pieces) {
  StopMatcher matcher(stops);
  Outcome outcome;
  for (const std::string& piece : pieces) outcome.shown += matcher.append(piece);
  outcome.shown += matcher.flush();
  outcome.matched = matcher.matched();
  return outcome;
}

// The rule, straightforwardly: the first end of any stop string, of those the longest.
Outcome expected(const Strings& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool ends_here = text.substr(0, end).ends_with(stops[i]);
      if (ends_here && (!best || stops[i].size() > stops[*best].size())) best = i;
    }
    if (best) return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

TEST(StopMatcherTest, StopStringSpreadOverPiecesIsNeverShown) {
  StopMatcher matcher({"FDE"});

  EXPECT_EQ(matcher.append("DEF"), "DE");
  EXPECT_EQ(matcher.append("DEF"), "");
  EXPECT_EQ(matcher.matched(), 0U);
}

TEST(StopMatcherTest, StopStringInsideOnePieceCutsIt) {
  EXPECT_EQ(run({"MNO"}, {"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}), (Outcome{"ABCDEFGHIJKL", 0}));
}

TEST(StopMatcherTest, NothingAfterTheMatchIsShown) {
  EXPECT_EQ(run({"three"}, {"one", ",", " two", ",", " three", ",", " four"}),
            (Outcome{"one, two, ", 0}));
}

TEST(StopMatcherTest, TextThatCannotBeAStopStringIsShownAtOnce) {
  StopMatcher matcher({"\n\nUser:"});

  EXPECT_EQ(matcher.append("Hi\n"), "Hi");
  EXPECT_EQ(matcher.append("\n"), "");
  EXPECT_EQ(matcher.append("\nUs"), "\n");
  EXPECT_EQ(matcher.append("a"), "\n\nUsa");
}

TEST(StopMatcherTest, HeldBackTextComesWithTheEnd) {
  EXPECT_EQ(run({"stop"}, {"do not sto"}), (Outcome{"do not sto", std::nullopt}));
}

TEST(StopMatcherTest, FirstCompleteStopStringWinsAndTheLongestOfEqualEnds) {
  EXPECT_EQ(run({"abcd", "bc"}, {"xabcd"}), (Outcome{"xa", 1}));
  EXPECT_EQ(run({"c", "abc", "bc"}, {"xab", "c"}), (Outcome{"x", 1}));
}

TEST(StopMatcherTest, CharactersAreNotSplitByHoldingBack) {
  StopMatcher matcher({"你好。"});

  EXPECT_EQ(matcher.append("他说你"), "他说");
  EXPECT_EQ(matcher.append("们"), "你们");
}

TEST(StopMatcherTest, WithoutStopStringsEverythingPasses) {
  EXPECT_EQ(run({}, {"a", "", "b"}), (Outcome{"ab", std::nullopt}));
}

TEST(StopMatcherTest, ResultDoesNotDependOnThePieces) {
  constexpr unsigned kSeed = 5;
  std::mt19937 random(kSeed);
  const auto random_text = [&random](std::size_t max_length) {
    std::string text;
    const std::size_t length = 1 + random() % max_length;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    Strings stops;
    for (std::size_t i = random() % 4; i > 0; --i) stops.push_back(random_text(7));
    Strings pieces;
    std::string text;
    for (int i = 0; i < 6; ++i) {
      pieces.push_back(random_text(5));
      text += pieces.back();
    }

    ASSERT_EQ(run(stops, pieces), expected(stops, text)) << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace paceline
