#include "kvpool/pool_snapshot.h"

#include <gmock/gmock.h>

#include "tests/kvpool/kvpool_fixture.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Block 0 held and cached, 1 its cached child, free; 2 free without content.
PoolSnapshot sound_snapshot() {
  return {.blocks = {{1, true, std::nullopt}, {0, true, BlockId{0}}, {0, false, std::nullopt}},
          .free_order = {BlockId{2}, BlockId{1}}};
}

std::vector<std::string> check(const PoolSnapshot& snapshot) {
  const std::vector<BlockId> held = {BlockId{0}};
  const std::vector<std::span<const BlockId>> holders = {held};
  return check_invariants(snapshot, holders);
}

TEST(PoolSnapshotTest, SoundStateBreaksNoRule) { EXPECT_THAT(check(sound_snapshot()), IsEmpty()); }

TEST(PoolSnapshotTest, LeakedReferenceIsNamed) {
  PoolSnapshot snapshot = sound_snapshot();
  snapshot.blocks[0].ref_count = 2;

  EXPECT_THAT(check(snapshot),
              ElementsAre(HasSubstr("block 0 counts 2 references and has 1 holders")));
}

TEST(PoolSnapshotTest, LostBlockIsNamed) {
  PoolSnapshot snapshot = sound_snapshot();
  snapshot.free_order = {BlockId{1}};

  EXPECT_THAT(check(snapshot), ElementsAre(HasSubstr("block 2 is both held and free, or neither")));
}

TEST(PoolSnapshotTest, BlockFreeTwiceIsNamed) {
  PoolSnapshot snapshot = sound_snapshot();
  snapshot.free_order = {BlockId{2}, BlockId{2}, BlockId{1}};

  EXPECT_THAT(check(snapshot), ElementsAre(HasSubstr("block 2 is free twice")));
}

TEST(PoolSnapshotTest, ContentBeforeEmptyBlockIsNamed) {
  PoolSnapshot snapshot = sound_snapshot();
  snapshot.free_order = {BlockId{1}, BlockId{2}};

  EXPECT_THAT(check(snapshot), ElementsAre(HasSubstr("block 2 has no content")));
}

TEST(PoolSnapshotTest, ParentEvictedBeforeChildIsNamed) {
  const PoolSnapshot snapshot = {.blocks = {{0, true, std::nullopt}, {0, true, BlockId{0}}},
                                 .free_order = {BlockId{0}, BlockId{1}}};

  EXPECT_THAT(check_invariants(snapshot, {}),
              ElementsAre(HasSubstr("block 1 would be evicted after its parent")));
}

TEST(PoolSnapshotTest, ChildOfAForgottenParentIsNamed) {
  PoolSnapshot snapshot = sound_snapshot();
  snapshot.blocks[0].cached = false;

  EXPECT_THAT(check(snapshot), ElementsAre(HasSubstr("block 1 is cached and its parent is not")));
}

}  // namespace
}  // namespace paceline
