#include "tokenizer/word_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace paceline {
namespace {

std::vector<TokenId> ids_of(int n) { return {TokenId{n}, TokenId{n + 1}}; }

TEST(WordCacheTest, RememberedWordGivesItsIds) {
  WordCache cache(16);
  cache.remember("word", ids_of(7));
  std::vector<TokenId> ids{TokenId{1}};

  EXPECT_TRUE(cache.append_known("word", ids));
  EXPECT_EQ(ids, (std::vector<TokenId>{TokenId{1}, TokenId{7}, TokenId{8}}));
  EXPECT_FALSE(cache.append_known("wor", ids));
}

TEST(WordCacheTest, WordsAndIdListsBeyondTheLimitsArePassedOver) {
  WordCache cache(16);
  const std::string longest(WordCache::kMaxWordBytes, 'a');
  const std::vector<TokenId> most(WordCache::kMaxIds, TokenId{3});
  cache.remember(longest, most);
  cache.remember(longest + 'a', ids_of(1));
  cache.remember("many", std::vector<TokenId>(WordCache::kMaxIds + 1, TokenId{3}));
  std::vector<TokenId> ids;

  EXPECT_TRUE(cache.append_known(longest, ids));
  EXPECT_EQ(ids, most);
  EXPECT_FALSE(cache.append_known(longest + 'a', ids));
  EXPECT_FALSE(cache.append_known("many", ids));
}

TEST(WordCacheTest, AWordReplacesTheOneInItsPlace) {
  WordCache cache(1);
  cache.remember("old", ids_of(1));
  cache.remember("new", ids_of(5));
  std::vector<TokenId> ids;

  EXPECT_FALSE(cache.append_known("old", ids));
  EXPECT_TRUE(cache.append_known("new", ids));
  EXPECT_EQ(ids, ids_of(5));
}

TEST(WordCacheTest, ThreadsNeverSeeAnotherWordsIds) {
  WordCache cache(4);  // few places, so that the threads replace each other's words
  std::vector<std::thread> threads;
  std::vector<int> num_wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, &wrong = num_wrong[static_cast<std::size_t>(t)], t] {
      for (int i = 0; i < 5000; ++i) {
        const int n = (i * 7 + t) % 40;
        const std::string word = "word" + std::to_string(n);
        std::vector<TokenId> ids;
        if (cache.append_known(word, ids) && ids != ids_of(n)) ++wrong;
        cache.remember(word, ids_of(n));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(num_wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace paceline
