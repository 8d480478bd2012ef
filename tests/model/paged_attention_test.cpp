#include "model/kernels/paged_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kv_store.h"
#include "model/kv_cache.h"

namespace paceline {
namespace {

constexpr int kHeads = 7;
constexpr int kKvHeads = 1;
constexpr int kContext = 1200;  // three partitions, the last tile partly filled
constexpr unsigned kSeed = 20240607;

/// Queries, keys and values of one sequence, [position][head][head_dim].
struct Sequence {
  Sequence(int head_width, int num_positions, unsigned seed) : head_dim(head_width) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& x, int heads) {
      x.resize(static_cast<std::size_t>(num_positions * heads * head_dim));
      for (float& v : x) v = 2.0F * normal(random);
    };
    fill(queries, kHeads);
    fill(keys, kKvHeads);
    fill(values, kKvHeads);
  }
  [[nodiscard]] const float* query(int position) const {
    return queries.data() + static_cast<std::ptrdiff_t>(position) * kHeads * head_dim;
  }
  int head_dim;
  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> values;
};

struct Case {
  int head_dim = 64;
  KvElement dtype = KvElement::kInt8;
  float key_bias = 0;  ///< above kLargeKeyBias: K is bf16
  int block_size = 32;
  int num_threads = 1;
  Isa isa = Isa::kScalar;
};

/// A cache with one sequence stored in scattered blocks, and attention over it.
class CachedSequence {
 public:
  CachedSequence(const Case& setup, const Sequence& sequence, int num_positions)
      : setup_(setup),
        sequence_(sequence),
        team_(setup.num_threads),
        attention_({.n_heads = kHeads,
                    .n_kv_heads = kKvHeads,
                    .head_dim = setup.head_dim,
                    .max_tokens = kContext,
                    .num_threads = setup.num_threads},
                   setup.isa),
        cache_(make_cache(setup, num_positions)) {
    const int num_blocks = (num_positions + setup.block_size - 1) / setup.block_size;
    for (int b = 0; b < num_blocks; ++b) blocks_.push_back(BlockId{2 * (num_blocks - 1 - b) + 1});
    fill_with_garbage();
    for (int p = 0; p < num_positions; ++p) store(p);
  }

  /// Rows [first, first + count) as one step; returns [count, heads, head_dim].
  std::vector<float> run(int first, int count) {
    const AttentionSequence rows{
        .first_row = 0, .num_rows = count, .start_position = first, .blocks = blocks_};
    std::vector<float> out(static_cast<std::size_t>(count * kHeads * setup_.head_dim));
    attention_.plan(std::span(&rows, 1));
    attention_.run(team_, cache_.layer(0), sequence_.query(first),
                   static_cast<std::size_t>(kHeads * setup_.head_dim), out.data());
    return out;
  }

  KvCache& cache() { return cache_; }
  std::vector<BlockId>& blocks() { return blocks_; }

 private:
  static KvCache make_cache(const Case& setup, int num_positions) {
    ModelConfig config;
    config.n_layers = 1;
    config.n_kv_heads = kKvHeads;
    config.head_dim = setup.head_dim;
    const std::vector<float> bias{setup.key_bias};
    const int blocks = 2 * (num_positions / setup.block_size + 2);
    return KvCache::create(KvCacheLayout(config, setup.dtype, bias, setup.block_size), blocks)
        .value();
  }

  /// What earlier sequences left must not show: all bits set is NaN in every float.
  void fill_with_garbage() {
    std::memset(cache_.layer(0).base, 0xFF, cache_.reserved_bytes());
    const KvGroupLayout& layout = cache_.layout().group(0);
    if (layout.padded_dim == layout.head_dim) return;
    std::memset(cache_.layer(0).base, 0, cache_.reserved_bytes());  // padding is zero from birth
  }

  void store(int position) {
    const KvLayerView view = cache_.layer(0);
    const BlockId block = blocks_[static_cast<std::size_t>(position / setup_.block_size)];
    const int offset = position % setup_.block_size;
    std::byte* group = view.base + index_of(block) * view.block_stride +
                       static_cast<std::size_t>(offset / kKvGroupSize) * view.layout.bytes;
    const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(position) * setup_.head_dim;
    store_key_value(attention_kernels(setup_.isa), view.layout, group, offset % kKvGroupSize,
                    sequence_.keys.data() + place, sequence_.values.data() + place);
  }

  Case setup_;
  const Sequence& sequence_;
  ThreadPool team_;
  PagedAttention attention_;
  KvCache cache_;
  std::vector<BlockId> blocks_;
};

/// Softmax attention in double over the unquantised values.
std::vector<float> reference(const Sequence& s, int position) {
  std::vector<float> out;
  for (int h = 0; h < kHeads; ++h) {
    std::vector<double> p;
    double sum = 0;
    for (int j = 0; j <= position; ++j) {
      double dot = 0;
      for (int d = 0; d < s.head_dim; ++d) {
        dot += double{s.query(position)[h * s.head_dim + d]} *
               double{s.keys[static_cast<std::size_t>(j * s.head_dim + d)]};
      }
      p.push_back(std::exp(dot / std::sqrt(double(s.head_dim)) - 40.0));
      sum += p.back();
    }
    for (int d = 0; d < s.head_dim; ++d) {
      double value = 0;
      for (int j = 0; j <= position; ++j) {
        value += p[static_cast<std::size_t>(j)] *
                 double{s.values[static_cast<std::size_t>(j * s.head_dim + d)]};
      }
      out.push_back(static_cast<float>(value / sum));
    }
  }
  return out;
}

float largest_difference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

std::vector<float> rows_one_by_one(CachedSequence& cached, int first, int count) {
  std::vector<float> all;
  for (int i = 0; i < count; ++i) {
    const std::vector<float> row = cached.run(first + i, 1);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::string name_of(KvElement element) {
  return element == KvElement::kInt8 ? "int8" : element == KvElement::kBf16 ? "bf16" : "f32";
}

// Bounds: f32 sums 1 200 products of magnitude 1 in float, 1e-4 covers its rounding. bf16 keeps 8
// bits: a relative error of 2^-9 per key element moves a score of deviation 4·… by about 0.02, a
// probability by 2 %, the result (deviation 2) by at most 0.1. int8 keys and queries: a step of
// max / 127 ≈ 0.06 each, so a score moves by about 0.06 · 2 · 2 / √12 ≈ 0.1; the same bound × 5.
TEST(PagedAttentionTest, MatchesExactAttention) {
  const Sequence sequence(64, kContext, kSeed);
  for (const auto& [dtype, bias, bound] :
       std::vector<std::tuple<KvElement, float, float>>{{KvElement::kF32, 0.0F, 1e-4F},
                                                        {KvElement::kBf16, 0.0F, 0.1F},
                                                        {KvElement::kInt8, 100.0F, 0.25F},
                                                        {KvElement::kInt8, 0.0F, 0.5F}}) {
    CachedSequence cached({.dtype = dtype, .key_bias = bias, .isa = detect_isa()}, sequence,
                          kContext);
    for (const int position : {0, 1, 15, 16, 63, 64, 511, 512, 1023, kContext - 1}) {
      EXPECT_LT(largest_difference(cached.run(position, 1), reference(sequence, position)), bound)
          << name_of(dtype) << " bias " << bias << " position " << position;
    }
  }
}

TEST(PagedAttentionTest, ChunksDoNotChangeABit) {
  const Sequence sequence(64, kContext, kSeed);
  CachedSequence cached({.isa = detect_isa()}, sequence, kContext);
  const int first = 490;
  const int count = 60;
  const std::vector<float> expected = rows_one_by_one(cached, first, count);

  EXPECT_EQ(cached.run(first, count), expected);
  std::vector<float> chunks = cached.run(first, 7);
  const std::vector<float> rest = cached.run(first + 7, count - 7);
  chunks.insert(chunks.end(), rest.begin(), rest.end());
  EXPECT_EQ(chunks, expected);
}

TEST(PagedAttentionTest, BlockSizesDoNotChangeABit) {
  const Sequence sequence(64, kContext, kSeed);
  for (const KvElement dtype : {KvElement::kInt8, KvElement::kBf16, KvElement::kF32}) {
    CachedSequence small({.dtype = dtype, .block_size = 16, .isa = detect_isa()}, sequence,
                         kContext);
    const std::vector<float> expected = small.run(kContext - 40, 40);
    for (const int block_size : {32, 64}) {
      CachedSequence cached({.dtype = dtype, .block_size = block_size, .isa = detect_isa()},
                            sequence, kContext);
      EXPECT_EQ(cached.run(kContext - 40, 40), expected) << name_of(dtype) << " " << block_size;
    }
  }
}

TEST(PagedAttentionTest, ThreadsAndSplitPartitionsDoNotChangeABit) {
  const Sequence sequence(64, kContext, kSeed);
  CachedSequence alone({.num_threads = 1, .isa = detect_isa()}, sequence, kContext);
  for (const int threads : {2, 3, 5}) {
    CachedSequence cached({.num_threads = threads, .isa = detect_isa()}, sequence, kContext);
    EXPECT_EQ(cached.run(kContext - 1, 1), alone.run(kContext - 1, 1)) << threads;
    EXPECT_EQ(cached.run(500, 40), alone.run(500, 40)) << threads;
  }
}

TEST(PagedAttentionTest, OtherSequencesInTheStepDoNotChangeABit) {
  const Sequence sequence(64, kContext, kSeed);
  const Case setup{.isa = detect_isa()};
  CachedSequence cached(setup, sequence, kContext);
  const std::vector<AttentionSequence> step{
      {.first_row = 0, .num_rows = 20, .start_position = 30, .blocks = cached.blocks()},
      {.first_row = 20, .num_rows = 1, .start_position = 700, .blocks = cached.blocks()},
      {.first_row = 21, .num_rows = 3, .start_position = 0, .blocks = cached.blocks()}};
  std::vector<float> queries;
  std::vector<float> expected;
  for (const AttentionSequence& s : step) {
    const float* q = sequence.query(s.start_position);
    queries.insert(queries.end(), q, q + s.num_rows * kHeads * 64);
    const std::vector<float> part = cached.run(s.start_position, s.num_rows);
    expected.insert(expected.end(), part.begin(), part.end());
  }

  PagedAttention attention({.n_heads = kHeads,
                            .n_kv_heads = kKvHeads,
                            .head_dim = 64,
                            .max_tokens = 24,
                            .num_threads = 2},
                           setup.isa);
  ThreadPool team(2);
  std::vector<float> out(expected.size());
  attention.plan(step);
  attention.run(team, cached.cache().layer(0), queries.data(), kHeads * 64, out.data());

  EXPECT_EQ(out, expected);
}

TEST(PagedAttentionTest, CopiedBlockGivesTheSameBits) {
  const Sequence sequence(64, 100, kSeed);
  CachedSequence cached({.block_size = 32, .isa = detect_isa()}, sequence, 100);
  const std::vector<float> expected = cached.run(99, 1);

  const BlockId source = cached.blocks().back();
  const BlockId target{0};
  cached.cache().copy_block(source, target, 100 % 32);
  cached.blocks().back() = target;

  EXPECT_EQ(cached.run(99, 1), expected);
}

class AttentionIsaTest : public testing::TestWithParam<Isa> {};

TEST_P(AttentionIsaTest, EveryBitIsThatOfTheScalarKernels) {
  if (!is_available(GetParam())) GTEST_SKIP() << "needs " << to_string(GetParam());
  for (const int head_dim : {16, 64, 10}) {
    const Sequence sequence(head_dim, 80, kSeed);
    for (const auto& [dtype, bias] :
         std::vector<std::pair<KvElement, float>>{{KvElement::kInt8, 0.0F},
                                                  {KvElement::kInt8, 100.0F},
                                                  {KvElement::kBf16, 0.0F},
                                                  {KvElement::kF32, 0.0F}}) {
      Case setup{.head_dim = head_dim, .dtype = dtype, .key_bias = bias};
      CachedSequence scalar(setup, sequence, 80);
      setup.isa = GetParam();
      CachedSequence cached(setup, sequence, 80);
      EXPECT_EQ(cached.run(60, 20), scalar.run(60, 20))
          << name_of(dtype) << " bias " << bias << " head_dim " << head_dim;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionIsaTest, testing::Values(Isa::kAvx2, Isa::kAvx512Vnni),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(KvCacheTest, LayersWithALargeKeyBiasTakeWiderKeys) {
  ModelConfig config;
  config.n_layers = 2;
  config.n_kv_heads = 2;
  config.head_dim = 64;
  const std::vector<float> biases{6.0F, 211.0F};

  const KvCacheLayout layout(config, KvElement::kInt8, biases, 32);

  EXPECT_EQ(layout.group(0).key, KvElement::kInt8);
  EXPECT_EQ(layout.group(1).key, KvElement::kBf16);
  EXPECT_EQ(layout.group(1).value, KvElement::kInt8);
  // Per 16 positions and head: 1024 + 64 of K (2048 as bf16), 1024 + 64 of V.
  EXPECT_EQ(layout.bytes_per_block(), 2U * 2U * (2176U + 3136U));
}

TEST(KvCacheTest, MemoryBecomesResidentWhenWritten) {
  ModelConfig config;
  config.n_layers = 2;
  config.n_kv_heads = 2;
  config.head_dim = 64;
  const std::vector<float> biases{0.0F, 0.0F};
  auto cache = KvCache::create(KvCacheLayout(config, KvElement::kF32, biases, 64), 4000);
  ASSERT_TRUE(cache.has_value());
  ASSERT_EQ(cache->resident_bytes(), 0U);

  std::memset(cache->layer(0).base, 1, 1000);

  EXPECT_GT(cache->resident_bytes(), 0U);
  EXPECT_LT(cache->resident_bytes(), cache->reserved_bytes() / 2);
}

TEST(KvCacheTest, ImpossibleSizeIsAnError) {
  ModelConfig config;
  config.n_layers = 80;
  config.n_kv_heads = 64;
  config.head_dim = 256;
  const std::vector<float> biases(80);

  const auto cache =
      KvCache::create(KvCacheLayout(config, KvElement::kF32, biases, 64), 2'000'000'000);

  ASSERT_FALSE(cache.has_value());
  EXPECT_EQ(cache.error().code, ErrorCode::kBadConfig);
}

}  // namespace
}  // namespace paceline
