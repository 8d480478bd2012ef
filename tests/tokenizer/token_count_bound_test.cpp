#include "tokenizer/token_count_bound.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

TEST(TokenCountBoundTest, ExceedsOnlyWhenNoSplitIsShortEnough) {
  const auto vocab = Vocab::make(tiny_vocabulary());
  const TokenCountBound bound(*vocab);

  EXPECT_FALSE(bound.exceeds("Hello", 1));
  EXPECT_TRUE(bound.exceeds("HelloHello", 1));
  EXPECT_FALSE(bound.exceeds("HelloHello", 2));
  EXPECT_TRUE(bound.exceeds("xyz", 2));
  EXPECT_FALSE(bound.exceeds("", 0));
  EXPECT_TRUE(bound.exceeds("x", 0));
}

TEST(TokenCountBoundTest, NeverExceedsWhatBpeNeeds) {
  constexpr unsigned kSeed = 3;
  std::mt19937 random(kSeed);
  const auto vocab = Vocab::make(tiny_vocabulary());
  const TokenCountBound bound(*vocab);
  const auto tokenizer = make_bpe_tokenizer(tiny_vocabulary());
  for (int round = 0; round < 2000; ++round) {
    std::string word;
    for (int i = 0; i < 20; ++i) word += "Hello"[random() % 5];

    const std::size_t num_tokens = (*tokenizer)->encode(word, SpecialText::kPlain).size();

    ASSERT_FALSE(bound.exceeds(word, num_tokens)) << word << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace paceline
