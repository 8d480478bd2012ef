#include "kvpool/block_table.h"

#include <gmock/gmock.h>

#include <utility>

namespace paceline {
namespace {

using ::testing::ElementsAre;

TEST(BlockTableTest, GivesBlocksBackWithTheLastOneEvictedFirst) {
  BlockPool pool(3);
  {
    BlockTable table(pool);
    for (int i = 0; i < 3; ++i) {
      const BlockId block = *pool.take();
      pool.set_cached(block, true);
      table.adopt(block);
    }
  }

  EXPECT_THAT(pool.free_order(), ElementsAre(BlockId{2}, BlockId{1}, BlockId{0}));
}

TEST(BlockTableTest, SharedBlockOutlivesOneOfItsTables) {
  BlockPool pool(1);
  BlockTable first(pool);
  first.adopt(*pool.take());
  BlockTable second(pool);
  second.share(first.ids()[0]);

  first.clear();

  EXPECT_EQ(pool.ref_count(BlockId{0}), 1);
  EXPECT_THAT(second.ids(), ElementsAre(BlockId{0}));
}

TEST(BlockTableTest, ReplaceHoldsTheOtherBlockInstead) {
  BlockPool pool(2);
  BlockTable table(pool);
  table.adopt(*pool.take());

  table.replace(0, BlockId{1});

  EXPECT_EQ(pool.ref_count(BlockId{0}), 0);
  EXPECT_EQ(pool.ref_count(BlockId{1}), 1);
}

TEST(BlockTableTest, MovedFromTableHoldsNothing) {
  BlockPool pool(2);
  BlockTable table(pool);
  table.adopt(*pool.take());
  BlockTable target(pool);
  target.adopt(*pool.take());

  target = std::move(table);

  EXPECT_THAT(target.ids(), ElementsAre(BlockId{0}));
  EXPECT_EQ(pool.ref_count(BlockId{0}), 1);
  EXPECT_EQ(pool.ref_count(BlockId{1}), 0);
}

}  // namespace
}  // namespace paceline
