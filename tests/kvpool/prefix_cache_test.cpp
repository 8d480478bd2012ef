#include "kvpool/prefix_cache.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "tests/kvpool/kvpool_fixture.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Hits must not depend on the hash: it is only a key.
class PrefixCacheTest : public ::testing::TestWithParam<BlockHashFunction> {
 protected:
  PoolWithCache kv_{16, 4, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Hashes, PrefixCacheTest,
                         ::testing::Values(&hash_block, &constant_hash, &four_bit_hash),
                         [](const auto& instance) {
                           return std::string(instance.index == 0   ? "SplitMix"
                                              : instance.index == 1 ? "Constant"
                                                                    : "FourBits");
                         });

TEST_P(PrefixCacheTest, FindsFullBlocksOfAnEqualBeginning) {
  BlockTable table(kv_.pool);
  kv_.compute("", token_run(0, 10), table);

  const PrefixMatch match = kv_.match("", join(token_run(0, 8), token_run(50, 8)));

  EXPECT_THAT(match.blocks, ElementsAre(table.ids()[0], table.ids()[1]));
  EXPECT_FALSE(match.partial);
}

TEST_P(PrefixCacheTest, SameBlockBehindAnotherPastIsNoHit) {
  BlockTable x(kv_.pool);
  BlockTable y(kv_.pool);
  kv_.compute("", join(token_run(1000, 4), token_run(3000, 8)), x);

  kv_.compute("", join(token_run(2000, 4), token_run(3000, 8)), y);

  const PrefixMatch match = kv_.match("", join(token_run(2000, 4), token_run(3000, 9)));
  EXPECT_THAT(match.blocks, ElementsAre(y.ids()[0], y.ids()[1], y.ids()[2]));
  EXPECT_NE(y.ids()[1], x.ids()[1]);
}

TEST_P(PrefixCacheTest, OtherSaltFindsNothing) {
  BlockTable table(kv_.pool);
  kv_.compute("a", token_run(0, 8), table);

  const PrefixMatch match = kv_.match("b", token_run(0, 9));

  EXPECT_THAT(match.blocks, IsEmpty());
  EXPECT_FALSE(match.partial);
}

TEST_P(PrefixCacheTest, BeginningOfABlockIsFoundForCopying) {
  BlockTable table(kv_.pool);
  kv_.compute("", token_run(0, 8), table);

  const PrefixMatch match = kv_.match("", join(token_run(0, 6), token_run(90, 6)));

  EXPECT_THAT(match.blocks, ElementsAre(table.ids()[0]));
  ASSERT_TRUE(match.partial);
  EXPECT_EQ(match.partial->source, table.ids()[1]);
  EXPECT_EQ(match.partial->num_tokens, 2);
}

TEST_P(PrefixCacheTest, LongestOfSeveralPartialMatchesWins) {
  BlockTable a(kv_.pool);
  BlockTable b(kv_.pool);
  BlockTable c(kv_.pool);
  kv_.compute("", join(token_run(0, 5), token_run(60, 3)), a);
  kv_.compute("", join(token_run(0, 7), token_run(70, 1)), b);
  kv_.compute("", join(token_run(0, 6), token_run(80, 2)), c);

  const PrefixMatch match = kv_.match("", join(token_run(0, 7), token_run(90, 4)));

  ASSERT_TRUE(match.partial);
  EXPECT_EQ(match.partial->source, b.ids()[1]);
  EXPECT_EQ(match.partial->num_tokens, 3);
}

TEST_P(PrefixCacheTest, NeverCoversThePromptsLastToken) {
  BlockTable table(kv_.pool);
  kv_.compute("", token_run(0, 8), table);

  const PrefixMatch match = kv_.match("", token_run(0, 8));

  EXPECT_THAT(match.blocks, ElementsAre(table.ids()[0]));
  ASSERT_TRUE(match.partial);
  EXPECT_EQ(match.partial->num_tokens, 3);
}

TEST_P(PrefixCacheTest, EqualContentIsKeptOnce) {
  BlockTable first(kv_.pool);
  kv_.compute("", token_run(0, 4), first);
  BlockReservation reservation(kv_.pool, kv_.cache);
  ASSERT_TRUE(reservation.extend(1));

  const BlockId canonical =
      kv_.cache.insert("", std::nullopt, token_run(0, 4), reservation.blocks()[0]);

  EXPECT_EQ(canonical, first.ids()[0]);
  EXPECT_FALSE(kv_.pool.is_cached(reservation.blocks()[0]));
}

TEST_P(PrefixCacheTest, EvictionTakesTheLeastRecentlyUsedEndFirst) {
  for (const int prompt : {100, 200}) {
    BlockTable table(kv_.pool);
    kv_.compute("", token_run(prompt, 32), table);
  }
  {
    BlockTable again(kv_.pool);
    kv_.compute("", token_run(100, 32), again);
  }

  BlockReservation reservation(kv_.pool, kv_.cache);
  ASSERT_TRUE(reservation.extend(9));

  EXPECT_THAT(kv_.match("", token_run(200, 33)).blocks, IsEmpty());
  EXPECT_EQ(kv_.match("", token_run(100, 33)).blocks.size(), 7U);
}

TEST(BlockHashTest, ChainsOverSaltParentAndTokens) {
  const auto tokens = token_run(1, 16);
  const BlockHash root = hash_salt(1, "a");

  EXPECT_EQ(hash_block(root, tokens), hash_block(hash_salt(1, "a"), tokens));
  EXPECT_NE(hash_block(root, tokens), hash_block(hash_salt(2, "a"), tokens));
  EXPECT_NE(hash_block(root, tokens), hash_block(hash_salt(1, "b"), tokens));
  EXPECT_NE(hash_block(root, tokens), hash_block(root, token_run(2, 16)));
  EXPECT_NE(hash_block(root, tokens), hash_block(hash_block(root, tokens), tokens));
}

TEST(BlockHashTest, SpreadsNeighbouringTokensOverLowBits) {
  std::vector<int> hits(256, 0);
  for (int i = 0; i < 2560; ++i) {
    const auto hash = hash_block(hash_salt(1, ""), std::vector{TokenId{i}, TokenId{0}});
    ++hits[static_cast<std::uint64_t>(hash) & 255];
  }

  // 10 a bucket on average; a Poisson count of 30 or more has a probability below 1e-6.
  EXPECT_THAT(hits, ::testing::Each(::testing::Lt(30)));
}

}  // namespace
}  // namespace paceline
