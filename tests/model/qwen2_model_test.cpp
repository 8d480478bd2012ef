#include "model/qwen2_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/accuracy.h"
#include "tests/model/forward_harness.h"
#include "tests/support/memory_model.h"

namespace paceline {
namespace {

constexpr unsigned kSeed = 11;
using Rows = std::vector<std::vector<float>>;
using Vector = std::vector<double>;

/// The forward pass as in the paper, one token after the other in double precision.
class PlainReference {
 public:
  explicit PlainReference(const MemoryModel& model) : model_(model), c_(model.config()) {
    keys_.resize(static_cast<std::size_t>(c_.n_layers));
    values_.resize(static_cast<std::size_t>(c_.n_layers));
  }

  Vector next(TokenId id) {
    Vector x = row("token_embd.weight", raw(id));
    for (int l = 0; l < c_.n_layers; ++l) {
      const std::string block = "blk." + std::to_string(l) + ".";
      add(x, linear(attention(l, normalize(x, block + "attn_norm")), block + "attn_output"));
      const Vector h = normalize(x, block + "ffn_norm");
      Vector gate = linear(h, block + "ffn_gate");
      const Vector up = linear(h, block + "ffn_up");
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      add(x, linear(gate, block + "ffn_down"));
    }
    ++position_;
    return linear(normalize(x, "output_norm"), c_.tied_embeddings ? "token_embd" : "output");
  }

 private:
  Vector attention(int layer, const Vector& h) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    const Vector q = rotate(linear(h, block + "attn_q"));
    auto& keys = keys_[static_cast<std::size_t>(layer)];
    auto& values = values_[static_cast<std::size_t>(layer)];
    keys.push_back(rotate(linear(h, block + "attn_k")));
    values.push_back(linear(h, block + "attn_v"));
    Vector out(q.size());
    const int dim = c_.head_dim;
    for (int head = 0; head < c_.n_heads; ++head) {
      const int kv = head / (c_.n_heads / c_.n_kv_heads);
      Vector p;
      double sum = 0;
      for (const Vector& k : keys) {
        double dot = 0;
        for (int d = 0; d < dim; ++d) dot += at(q, head * dim + d) * at(k, kv * dim + d);
        p.push_back(std::exp(dot / std::sqrt(dim)));
        sum += p.back();
      }
      for (std::size_t j = 0; j < p.size(); ++j) {
        for (int d = 0; d < dim; ++d) {
          out[static_cast<std::size_t>(head * dim + d)] += p[j] / sum * at(values[j], kv * dim + d);
        }
      }
    }
    return out;
  }

  Vector rotate(Vector x) const {
    const int half = c_.head_dim / 2;
    for (std::size_t head = 0; head < x.size(); head += static_cast<std::size_t>(c_.head_dim)) {
      for (int i = 0; i < half; ++i) {
        const double angle = position_ * std::pow(double{c_.rope_theta}, -double(i) / half);
        double& a = x[head + static_cast<std::size_t>(i)];
        double& b = x[head + static_cast<std::size_t>(i + half)];
        const double rotated = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = rotated;
      }
    }
    return x;
  }

  Vector normalize(const Vector& x, const std::string& name) const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double factor =
        1 / std::sqrt(squares / static_cast<double>(x.size()) + double{c_.rms_eps});
    Vector y = row(name + ".weight", 0);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= x[i] * factor;
    return y;
  }

  Vector linear(const Vector& x, const std::string& name) const {
    const auto& w = model_.tensor(name + ".weight");
    Vector y(static_cast<std::size_t>(w.shape.rows));
    for (std::size_t r = 0; r < y.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) y[r] += x[i] * double{w.values[r * x.size() + i]};
    }
    if (model_.has(name + ".bias")) add(y, row(name + ".bias", 0));
    return y;
  }

  Vector row(const std::string& name, int index) const {
    const auto& t = model_.tensor(name);
    const auto begin = t.values.begin() + index * t.shape.columns;
    return {begin, begin + t.shape.columns};
  }
  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  static double at(const Vector& x, int i) { return x[static_cast<std::size_t>(i)]; }

  const MemoryModel& model_;
  const ModelConfig c_;
  int position_ = 0;
  std::vector<std::vector<Vector>> keys_;
  std::vector<std::vector<Vector>> values_;
};

/// RMS of the differences over RMS of the expected logits.
double relative_error(const Rows& rows, const Rows& expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const double e = expected[r][i];
      difference += (rows[r][i] - e) * (rows[r][i] - e);
      size += e * e;
    }
  }
  return std::sqrt(difference / size);
}

Rows reference_rows(const MemoryModel& model, std::span<const TokenId> tokens) {
  PlainReference reference(model);
  Rows rows;
  for (const TokenId id : tokens) {
    const Vector logits = reference.next(id);
    rows.emplace_back(logits.begin(), logits.end());
  }
  return rows;
}

// Float sums of up to 96 products, through two layers: 1e-5 is some hundred roundings of 6e-8.
TEST(Qwen2ModelTest, FloatFormMatchesThePaper) {
  for (const bool tied : {true, false}) {
    ModelConfig config = MemoryModel::small_config();
    config.tied_embeddings = tied;
    const MemoryModel model(config, kSeed);
    const auto tokens = random_tokens(80, config.vocab_rows, kSeed);
    ForwardHarness harness(model, config, {.form = WeightsForm::kF32, .kv_dtype = KvElement::kF32});

    EXPECT_LT(relative_error(harness.run(tokens, 80), reference_rows(model, tokens)), 1e-5)
        << (tied ? "tied" : "untied");
  }
}

// A rounded vector whose largest value is about 3.5 deviations is wrong by 3.5 / 127 / √12 = 0.8 %
// of a deviation. A product of two such vectors, weights and inputs, by √2 · 0.8 % = 1.1 %; about
// ten products and the cache lie between ids and logits, each diluted by the residual stream:
// √10 · 1.1 % = 3.5 %. Twice that is the bound.
TEST(Qwen2ModelTest, Int8FormIsCloseToThePaper) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(80, model.config().vocab_rows, kSeed);
  ForwardHarness harness(model, model.config(), {});

  EXPECT_LT(relative_error(harness.run(tokens, 80), reference_rows(model, tokens)), 0.07);
}

// As in the real models, a bias of a dimension that hardly rotates: it adds nearly the same to all
// scores, but an int8 scale that covers it leaves little for the other dimensions. Measured against
// a float cache, so that only the cache's own error shows.
TEST(Qwen2ModelTest, WiderKeysKeepTheErrorOfLargeBiasesSmall) {
  MemoryModel model(MemoryModel::small_config(), kSeed);
  for (const char* layer : {"blk.0.attn_k.bias", "blk.1.attn_k.bias"}) {
    model.tensor(layer).values[15] = 100.0F;
    model.tensor(layer).values[31] = -100.0F;
  }
  const auto tokens = random_tokens(80, model.config().vocab_rows, kSeed);
  ForwardHarness exact(model, model.config(), {.kv_dtype = KvElement::kF32});
  ForwardHarness narrow(model, model.config(), {.widens_keys = false});
  ForwardHarness widened(model, model.config(), {});
  const Rows expected = exact.run(tokens, 80);

  ASSERT_EQ(narrow.cache().layout().group(0).key, KvElement::kInt8);
  ASSERT_EQ(widened.cache().layout().group(0).key, KvElement::kBf16);
  EXPECT_LT(relative_error(widened.run(tokens, 80), expected),
            relative_error(narrow.run(tokens, 80), expected) / 2);
}

TEST(Qwen2ModelTest, ChunkSizesDoNotChangeABit) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(150, model.config().vocab_rows, kSeed);
  ForwardHarness harness(model, model.config(), {});
  const Rows expected = harness.run(tokens, 150);

  for (const int chunk : {1, 7, 16, 64}) EXPECT_EQ(harness.run(tokens, chunk), expected) << chunk;
}

TEST(Qwen2ModelTest, ContextBeyondOnePartitionDoesNotDependOnChunks) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(600, model.config().vocab_rows, kSeed);
  ForwardHarness harness(model, model.config(), {.num_threads = 2, .max_tokens = 600});
  const Rows expected = harness.run(tokens, 600);

  EXPECT_EQ(harness.run(tokens, 100), expected);
}

TEST(Qwen2ModelTest, NeighboursInTheStepDoNotChangeABit) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  ForwardHarness harness(model, model.config(), {});
  const auto a = random_tokens(70, model.config().vocab_rows, 1);
  const auto b = random_tokens(33, model.config().vocab_rows, 2);
  const auto c = random_tokens(20, model.config().vocab_rows, 3);
  const Rows alone_a = harness.run(a, 70);
  const Rows alone_b = harness.run(b, 33);
  const Rows alone_c = harness.run(c, 20);

  const auto blocks_a = harness.blocks(70, 100);
  const auto blocks_b = harness.blocks(33, 110);
  const auto blocks_c = harness.blocks(20, 120);
  Rows first = harness.step({{.tokens = a, .start = 0, .count = 69, .blocks = blocks_a},
                             {.tokens = b, .start = 0, .count = 10, .blocks = blocks_b}});
  Rows second = harness.step({{.tokens = c, .start = 0, .count = 20, .blocks = blocks_c},
                              {.tokens = a, .start = 69, .count = 1, .blocks = blocks_a},
                              {.tokens = b, .start = 10, .count = 23, .blocks = blocks_b}});

  EXPECT_EQ(Rows(first.begin(), first.begin() + 69), Rows(alone_a.begin(), alone_a.end() - 1));
  EXPECT_EQ(Rows(second.begin(), second.begin() + 20), alone_c);
  EXPECT_EQ(second[20], alone_a[69]);
  EXPECT_EQ(Rows(second.begin() + 21, second.end()), Rows(alone_b.begin() + 10, alone_b.end()));
}

TEST(Qwen2ModelTest, ThreadsDoNotChangeABit) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(100, model.config().vocab_rows, kSeed);
  ForwardHarness alone(model, model.config(), {.num_threads = 1});
  const Rows expected = alone.run(tokens, 40);

  for (const int threads : {2, 3}) {
    ForwardHarness harness(model, model.config(), {.num_threads = threads});
    EXPECT_EQ(harness.run(tokens, 40), expected) << threads;
  }
}

TEST(Qwen2ModelTest, BlockSizesDoNotChangeABit) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(100, model.config().vocab_rows, kSeed);
  ForwardHarness small(model, model.config(), {.block_size = 16});
  const Rows expected = small.run(tokens, 40);

  for (const int block_size : {32, 64}) {
    ForwardHarness harness(model, model.config(), {.block_size = block_size});
    EXPECT_EQ(harness.run(tokens, 40), expected) << block_size;
  }
}

TEST(Qwen2ModelTest, CopiedPartialBlockContinuesLikeTheOriginal) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(60, model.config().vocab_rows, kSeed);
  ForwardHarness harness(model, model.config(), {.block_size = 32});
  const Rows expected = harness.run(tokens, 60);

  // Another sequence shares the first block and, by copy, eight positions of the second.
  std::vector<BlockId> blocks = harness.blocks(60, 0);
  harness.cache().copy_block(blocks[1], BlockId{50}, 8);
  blocks[1] = BlockId{50};
  const Rows rows = harness.step({{.tokens = tokens, .start = 40, .count = 20, .blocks = blocks}});

  EXPECT_EQ(rows, Rows(expected.begin() + 40, expected.end()));
}

TEST(Qwen2ModelTest, OnlyRowsAskedForGetLogits) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(20, model.config().vocab_rows, kSeed);
  ForwardHarness harness(model, model.config(), {});
  const Rows expected = harness.run(tokens, 20);

  const auto blocks = harness.blocks(20, 0);
  ForwardBatch batch;
  for (int p = 0; p < 20; ++p) {
    batch.token_ids.push_back(tokens[static_cast<std::size_t>(p)]);
    batch.positions.push_back(p);
    batch.slot_mapping.push_back(
        {.block = blocks[static_cast<std::size_t>(p / 16)], .offset = p % 16});
  }
  batch.sequences.push_back(
      {.first_row = 0, .num_rows = 20, .start_position = 0, .blocks = blocks});
  batch.logits_rows = {3, 19};
  const float* logits = harness.model().forward(batch, harness.cache()).logits;
  const auto columns = static_cast<std::size_t>(model.config().vocab_rows);

  EXPECT_EQ(std::vector<float>(logits, logits + columns), expected[3]);
  EXPECT_EQ(std::vector<float>(logits + columns, logits + 2 * columns), expected[19]);
}

TEST(Qwen2ModelTest, HeadsWiderThanTheKernelsAreRefused) {
  ModelConfig config = MemoryModel::small_config();
  config.head_dim = 2 * kMaxHeadDim;
  ThreadPool team(1);
  const SteadyClock clock;

  const auto model = Qwen2Model::create(config, {}, {}, 16, {.team = team, .clock = clock});

  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().code, ErrorCode::kBadFile);
}

TEST(AccuracyTest, PerplexityAndAgreementFollowFromTheLogits) {
  const MemoryModel model(MemoryModel::small_config(), kSeed);
  const auto tokens = random_tokens(50, model.config().vocab_rows, kSeed);
  ForwardHarness harness(
      model, model.config(),
      {.form = WeightsForm::kF32, .kv_dtype = KvElement::kF32, .max_tokens = 20});
  const Rows rows = reference_rows(model, tokens);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    double denominator = 0;
    for (const float logit : rows[i]) denominator += std::exp(double{logit});
    sum += std::log(denominator) - double{rows[i][index_of(tokens[i + 1])]};
  }

  const TeacherForcedScores scores = score_text(harness.model(), harness.cache(), tokens);

  EXPECT_NEAR(scores.perplexity(), std::exp(sum / 49), 1e-3 * std::exp(sum / 49));
  EXPECT_EQ(agreement(scores, scores), 1.0);
  TeacherForcedScores changed = scores;
  changed.best_tokens[0] = TokenId{raw(changed.best_tokens[0]) ^ 1};
  EXPECT_DOUBLE_EQ(agreement(scores, changed), 48.0 / 49.0);
}

class ForwardIsaTest : public testing::TestWithParam<Isa> {};

TEST_P(ForwardIsaTest, EveryBitIsThatOfTheScalarKernels) {
  if (!is_available(GetParam())) GTEST_SKIP() << "needs " << to_string(GetParam());
  MemoryModel model(MemoryModel::small_config(), kSeed);
  for (float& b : model.tensor("blk.0.attn_k.bias").values) b *= 500.0F;
  const auto tokens = random_tokens(80, model.config().vocab_rows, kSeed);
  ForwardHarness scalar(model, model.config(), {.isa = Isa::kScalar});
  ForwardHarness harness(model, model.config(), {.isa = GetParam()});

  EXPECT_EQ(harness.run(tokens, 33), scalar.run(tokens, 80));
}

INSTANTIATE_TEST_SUITE_P(All, ForwardIsaTest,
                         testing::Values(Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8),
                         [](const auto& param) { return std::string(to_string(param.param)); });

}  // namespace
}  // namespace paceline
