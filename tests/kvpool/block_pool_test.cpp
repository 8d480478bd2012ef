#include "kvpool/block_pool.h"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using ::testing::ElementsAre;

TEST(BlockPoolTest, GivesEveryBlockOnceThenNothing) {
  BlockPool pool(2);

  EXPECT_EQ(pool.take(), BlockId{0});
  EXPECT_EQ(pool.take(), BlockId{1});
  EXPECT_EQ(pool.take(), std::nullopt);
  EXPECT_EQ(pool.num_free(), 0);
}

TEST(BlockPoolTest, BlockIsFreeOnlyWhenItsLastReferenceIsReleased) {
  BlockPool pool(1);
  const BlockId block = *pool.take();
  pool.add_reference(block);

  pool.release(block);
  EXPECT_EQ(pool.num_free(), 0);

  pool.release(block);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockPoolTest, BlockWithoutContentIsReusedBeforeCachedOnes) {
  BlockPool pool(3);
  const BlockId a = *pool.take();
  const BlockId b = *pool.take();
  const BlockId c = *pool.take();
  pool.set_cached(a, true);
  pool.set_cached(b, true);

  pool.release(b);
  pool.release(a);
  pool.release(c);

  EXPECT_THAT(pool.free_order(), ElementsAre(c, b, a));
  EXPECT_EQ(pool.num_free_cached(), 2);
}

TEST(BlockPoolTest, FreedBlockStaysCachedUntilReused) {
  BlockPool pool(2);
  const BlockId a = *pool.take();
  pool.set_cached(a, true);
  pool.release(a);

  pool.add_reference(a);
  EXPECT_TRUE(pool.is_cached(a));
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_EQ(pool.num_evictions(), 0U);

  pool.release(a);
  static_cast<void>(pool.take());
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.num_evictions(), 1U);
}

TEST(BlockPoolTest, BlockInTheMiddleOfTheFreeQueueCanBeHeldAgain) {
  BlockPool pool(3);

  pool.add_reference(BlockId{1});

  EXPECT_THAT(pool.free_order(), ElementsAre(BlockId{0}, BlockId{2}));
  EXPECT_EQ(pool.ref_count(BlockId{1}), 1);
}

}  // namespace
}  // namespace paceline
