#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_harness.h"

namespace paceline {
namespace {

/// What the cache reuses never changes an output, whatever the hash.
class SchedulerPrefixTest : public ::testing::TestWithParam<BlockHashFunction> {
 protected:
  static BlockHash constant_hash(BlockHash, std::span<const TokenId>) { return BlockHash{1}; }
  static BlockHash four_bit_hash(BlockHash parent, std::span<const TokenId> tokens) {
    return BlockHash{static_cast<std::uint64_t>(hash_block(parent, tokens)) & 15};
  }

 public:
  static constexpr BlockHashFunction kHashes[] = {&hash_block, &constant_hash, &four_bit_hash};
};

INSTANTIATE_TEST_SUITE_P(Hashes, SchedulerPrefixTest,
                         ::testing::ValuesIn(SchedulerPrefixTest::kHashes));

TEST_P(SchedulerPrefixTest, RepeatedPromptIsReusedToItsLastTokenButOne) {
  SchedulerHarness harness(plain_options(64, 16), GetParam());
  const auto prompt = token_run(1000, 300);

  for (const int cached : {0, 299, 299}) {
    const SequenceId id = harness.add({.prompt = prompt, .max_new_tokens = 32});
    harness.run();

    EXPECT_EQ(harness.output(id), FakeModel::expected_output(prompt, 32));
    EXPECT_EQ(harness.stats(id).cached_tokens, cached);
  }
}

TEST_P(SchedulerPrefixTest, FullHitComputesTheLastPromptTokenOnce) {
  SchedulerHarness harness(plain_options(64), GetParam());
  harness.add({.prompt = token_run(0, 8), .max_new_tokens = 1});
  harness.run();
  const SequenceId id = harness.add({.prompt = token_run(0, 8), .max_new_tokens = 2});

  EXPECT_EQ(harness.step(), "2@7+1* | 1>2:3");
  EXPECT_EQ(harness.step(), "2@8+1*");
  EXPECT_EQ(harness.output(id), FakeModel::expected_output(token_run(0, 8), 2));
}

TEST_P(SchedulerPrefixTest, SameBlocksBehindAnotherPastAreNotReused) {
  SchedulerHarness harness(plain_options(64, 16), GetParam());
  const auto x = token_run(1000, 16);
  const auto y = token_run(2000, 16);
  const auto c = token_run(3000, 32);
  harness.add({.prompt = join(x, c), .max_new_tokens = 8});
  harness.run();

  const SequenceId alone = harness.add({.prompt = join(y, c), .max_new_tokens = 8});
  harness.run();
  const SequenceId hit = harness.add({.prompt = join(x, c), .max_new_tokens = 8});
  const SequenceId other = harness.add({.prompt = join(y, c), .max_new_tokens = 8});
  const SequenceId uncached = harness.add({.prompt = token_run(5000, 48), .max_new_tokens = 8});
  harness.run();

  EXPECT_EQ(harness.stats(alone).cached_tokens, 0);
  EXPECT_EQ(harness.stats(hit).cached_tokens, 47);
  for (const SequenceId id : {alone, hit, other, uncached}) {
    EXPECT_EQ(harness.output(id), FakeModel::expected_output(harness.spec(id).prompt, 8));
  }
}

TEST_P(SchedulerPrefixTest, TenantsAndSaltsShareNothing) {
  SchedulerHarness harness(plain_options(64), GetParam());
  const auto cached_tokens = [&](const SchedulerHarness::Spec& spec) {
    const SequenceId id = harness.add(spec);
    harness.run();
    return harness.stats(id).cached_tokens;
  };
  const auto prompt = token_run(0, 20);

  EXPECT_EQ(cached_tokens({.prompt = prompt, .tenant = 1}), 0);
  EXPECT_EQ(cached_tokens({.prompt = prompt, .tenant = 2}), 0);
  EXPECT_EQ(cached_tokens({.prompt = prompt, .tenant = 1, .cache_salt = "x"}), 0);
  EXPECT_EQ(cached_tokens({.prompt = prompt, .tenant = 1}), 19);
}

TEST_P(SchedulerPrefixTest, SequencesComputedSideBySideEndUpSharingBlocks) {
  SchedulerHarness harness(plain_options(64), GetParam());
  const auto prompt = token_run(0, 20);
  const SequenceId a = harness.add({.prompt = prompt, .max_new_tokens = 9});
  const SequenceId b = harness.add({.prompt = prompt, .max_new_tokens = 9});
  harness.step();

  EXPECT_EQ(harness.scheduler().snapshot().num_active_blocks, 5);
  harness.run();
  EXPECT_EQ(harness.output(a), harness.output(b));
}

TEST(SchedulerPrefixCacheOffTest, NothingIsReused) {
  SchedulerOptions options = plain_options(64);
  options.prefix_cache = false;
  SchedulerHarness harness(options);
  for (int i = 0; i < 2; ++i) {
    const SequenceId id = harness.add({.prompt = token_run(0, 20), .max_new_tokens = 4});
    harness.run();
    EXPECT_EQ(harness.stats(id).cached_tokens, 0);
    EXPECT_EQ(harness.output(id), FakeModel::expected_output(token_run(0, 20), 4));
  }
  EXPECT_EQ(harness.scheduler().snapshot().num_cached_blocks, 0);
}

}  // namespace
}  // namespace paceline
