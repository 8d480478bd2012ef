#include "kvpool/block_reservation.h"

#include <gmock/gmock.h>

#include "tests/kvpool/kvpool_fixture.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BlockReservationTest, UncommittedBlocksGoBackToThePool) {
  PoolWithCache kv(4, 2);
  BlockTable table(kv.pool);
  {
    BlockReservation reservation(kv.pool, kv.cache);
    ASSERT_TRUE(reservation.extend(3));
    reservation.commit(1, 1, table);
  }

  EXPECT_EQ(kv.pool.num_free(), 3);
  EXPECT_THAT(table.ids(), ElementsAre(BlockId{1}));
  EXPECT_THAT(kv.broken_rules({&table}), IsEmpty());
}

TEST(BlockReservationTest, AsksForMoreThanFreeAndChangesNothing) {
  PoolWithCache kv(2, 2);
  BlockReservation reservation(kv.pool, kv.cache);
  ASSERT_TRUE(reservation.extend(1));

  EXPECT_FALSE(reservation.extend(2));

  EXPECT_EQ(reservation.size(), 1);
  EXPECT_EQ(kv.pool.num_free(), 1);
}

TEST(BlockReservationTest, TakenBlockIsNoLongerFound) {
  PoolWithCache kv(1, 2);
  {
    BlockTable table(kv.pool);
    kv.compute("", token_run(1, 2), table);
  }
  BlockReservation reservation(kv.pool, kv.cache);

  ASSERT_TRUE(reservation.extend(1));

  EXPECT_THAT(kv.match("", token_run(1, 3)).blocks, IsEmpty());
}

TEST(BlockReservationTest, PinnedBlockIsNotEvictedBeforeRelease) {
  PoolWithCache kv(1, 2);
  {
    BlockTable table(kv.pool);
    kv.compute("", token_run(1, 2), table);
  }
  BlockReservation reservation(kv.pool, kv.cache);
  reservation.pin(BlockId{0});

  EXPECT_FALSE(reservation.extend(1));

  reservation.release();
  EXPECT_TRUE(reservation.extend(1));
}

}  // namespace
}  // namespace paceline
