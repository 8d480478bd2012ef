// The forward pass on the real model: what its shape and its numbers add to the small models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "model/open_model_source.h"
#include "tests/model/forward_harness.h"
#include "tests/model/reference_ids.h"

namespace paceline {
namespace {

using Rows = std::vector<std::vector<float>>;

class RealModelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* path = std::getenv("PACELINE_TEST_MODEL");
    if (path != nullptr) source_ = std::make_unique<ModelSource>(open_model_source(path).value());
  }
  static void TearDownTestSuite() { source_.reset(); }
  void SetUp() override {
    if (source_ == nullptr) GTEST_SKIP() << "needs PACELINE_TEST_MODEL";
  }
  static ForwardHarness load(const ForwardSetup& setup) {
    return {*source_->tensors, source_->config, setup};
  }

  static std::unique_ptr<ModelSource> source_;
};

std::unique_ptr<ModelSource> RealModelTest::source_;

TEST_F(RealModelTest, FloatFormGivesTheIdsOfThePlainReference) {
  const std::filesystem::path golden(PACELINE_GOLDEN_FOLDER);
  const auto prompts = read_id_lines(golden / "greedy_prompts.txt");
  const auto expected = read_id_lines(golden / "greedy_ids.txt");
  ASSERT_EQ(prompts.size(), expected.size());
  ForwardHarness harness = load(
      {.form = WeightsForm::kF32, .kv_dtype = KvElement::kF32, .num_threads = 2, .max_tokens = 64});

  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const int num_tokens = static_cast<int>(expected[i].size());
    EXPECT_EQ(continue_greedily(harness, prompts[i], num_tokens), expected[i]) << "prompt " << i;
  }
}

TEST_F(RealModelTest, Int8FormDoesNotDependOnChunksNeighboursOrBlocks) {
  ForwardHarness harness =
      load({.block_size = 16, .num_blocks = 64, .num_threads = 2, .max_tokens = 100});
  const auto a = random_tokens(70, 150'000, 1);
  const auto b = random_tokens(30, 150'000, 2);
  const Rows alone_a = harness.run(a, 70, 0);
  const Rows alone_b = harness.run(b, 7, 10);

  const auto blocks_a = harness.blocks(70, 20);
  const auto blocks_b = harness.blocks(30, 30);
  Rows together = harness.step({{.tokens = b, .start = 0, .count = 30, .blocks = blocks_b},
                                {.tokens = a, .start = 0, .count = 64, .blocks = blocks_a}});
  const Rows last = harness.step({{.tokens = a, .start = 64, .count = 6, .blocks = blocks_a}});

  EXPECT_EQ(Rows(together.begin(), together.begin() + 30), alone_b);
  EXPECT_EQ(Rows(together.begin() + 30, together.end()),
            Rows(alone_a.begin(), alone_a.begin() + 64));
  EXPECT_EQ(last, Rows(alone_a.begin() + 64, alone_a.end()));
}

TEST_F(RealModelTest, Int8FormHasTheSameBitsOnEveryInstructionSet) {
  const auto tokens = random_tokens(6, 150'000, 1);
  ForwardHarness scalar = load({.num_blocks = 8, .isa = Isa::kScalar, .max_tokens = 20});
  const Rows expected = scalar.run(tokens, 6);

  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8}) {
    if (!is_available(isa)) continue;
    ForwardHarness harness =
        load({.num_blocks = 8, .num_threads = 2, .isa = isa, .max_tokens = 20});
    EXPECT_EQ(harness.run(tokens, 4), expected) << to_string(isa);
  }
}

TEST_F(RealModelTest, LayersWithLargeKeyBiasesCacheWiderKeys) {
  if (source_->config.n_layers != 24) GTEST_SKIP() << "needs Qwen2.5 of 0.5B";
  ForwardHarness harness = load({.num_blocks = 1, .max_tokens = 1});

  std::vector<int> wide;
  for (int l = 0; l < 24; ++l) {
    if (harness.cache().layout().group(l).key == KvElement::kBf16) wide.push_back(l);
  }

  EXPECT_EQ(wide, (std::vector<int>{0, 1, 2, 3, 4, 8}));
}

}  // namespace
}  // namespace paceline
