#include "model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "model/linear_packing.h"
#include "model/weights_loader.h"
#include "tests/support/memory_model.h"
#include "tests/support/temp_folder.h"

namespace paceline {
namespace {

class WeightsTest : public testing::Test {
 protected:
  Result<LoadedWeights> load(const MemoryModel& model, const WeightsOptions& options) {
    return load_weights(
        model, model.config(), options, team_,
        [this](std::uint64_t done, std::uint64_t total) { progress_.emplace_back(done, total); });
  }

  ThreadPool team_{2};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> progress_;
};

bool same_bytes(const QuantizedMatrix& a, const QuantizedMatrix& b) {
  return std::ranges::equal(a.parts().values, b.parts().values) &&
         std::ranges::equal(a.parts().scales, b.parts().scales) &&
         std::ranges::equal(a.parts().row_sums, b.parts().row_sums) &&
         std::ranges::equal(a.parts().bias, b.parts().bias);
}

bool same_weights(const Weights& a, const Weights& b) {
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    if (!same_bytes(*a.layers[l].qkv.quantized(), *b.layers[l].qkv.quantized()) ||
        !same_bytes(*a.layers[l].down.quantized(), *b.layers[l].down.quantized()) ||
        !same_bytes(*a.layers[l].gate_up.quantized(), *b.layers[l].gate_up.quantized()) ||
        a.layers[l].ffn_norm != b.layers[l].ffn_norm) {
      return false;
    }
  }
  return same_bytes(*a.head.quantized(), *b.head.quantized());
}

TEST_F(WeightsTest, FloatFormStacksTheTensorsOfALayer) {
  const MemoryModel model(MemoryModel::small_config(), 1);

  const auto loaded = load(model, {.form = WeightsForm::kF32});

  ASSERT_TRUE(loaded.has_value());
  const FloatMatrix& qkv = *loaded->weights.layers[1].qkv.floats();
  EXPECT_EQ(qkv.rows, (4 + 2 * 2) * 16);
  const auto& k = model.tensor("blk.1.attn_k.weight").values;
  const auto& v_bias = model.tensor("blk.1.attn_v.bias").values;
  EXPECT_TRUE(std::equal(k.begin(), k.end(), qkv.values.data() + 64 * 64));
  EXPECT_TRUE(std::equal(v_bias.begin(), v_bias.end(), qkv.bias.data() + 64 + 32));
}

TEST_F(WeightsTest, CacheFileIsMadeOnceAndThenMapped) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  const TempFolder folder;
  const WeightsOptions options{.cache_file = folder / "model.int8.paceline"};
  const auto in_memory = load(model, {});
  ASSERT_TRUE(in_memory.has_value());

  const auto made = load(model, options);
  progress_.clear();
  const auto mapped = load(model, options);

  ASSERT_TRUE(made.has_value() && mapped.has_value());
  EXPECT_FALSE(made->packed_because.empty());
  EXPECT_TRUE(mapped->packed_because.empty());
  EXPECT_TRUE(progress_.empty());
  EXPECT_TRUE(mapped->warnings.empty());
  EXPECT_TRUE(same_weights(made->weights, in_memory->weights));
  EXPECT_TRUE(same_weights(mapped->weights, in_memory->weights));
}

TEST_F(WeightsTest, CacheFileOfAnotherModelIsMadeAnew) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  const MemoryModel other(MemoryModel::small_config(), 2);
  const TempFolder folder;
  const WeightsOptions options{.cache_file = folder / "model.int8.paceline"};
  ASSERT_TRUE(load(other, options).has_value());

  const auto loaded = load(model, options);

  ASSERT_TRUE(loaded.has_value());
  EXPECT_FALSE(loaded->packed_because.empty());
  EXPECT_TRUE(same_weights(loaded->weights, load(model, {})->weights));
}

TEST_F(WeightsTest, DamagedCacheFileIsMadeAnew) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  const TempFolder folder;
  const WeightsOptions options{.cache_file = folder / "model.int8.paceline"};
  ASSERT_TRUE(load(model, options).has_value());
  {
    std::fstream file(options.cache_file, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('\x55');
    file.put('\x66');
  }

  const auto loaded = load(model, options);

  ASSERT_TRUE(loaded.has_value());
  EXPECT_FALSE(loaded->packed_because.empty());
  EXPECT_TRUE(same_weights(loaded->weights, load(model, {})->weights));
}

TEST_F(WeightsTest, CacheThatCannotBeWrittenCostsOneWarning) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  const TempFolder folder;

  const auto loaded = load(model, {.cache_file = folder.path() / "missing" / "model.paceline"});

  ASSERT_TRUE(loaded.has_value());
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_NE(loaded->warnings[0].find("missing"), std::string::npos);
  EXPECT_TRUE(same_weights(loaded->weights, load(model, {})->weights));
}

TEST_F(WeightsTest, MissingTensorIsAnErrorWithAndWithoutCache) {
  MemoryModel model(MemoryModel::small_config(), 1);
  model.remove("blk.1.ffn_up.weight");
  const TempFolder folder;

  for (const WeightsOptions& options :
       {WeightsOptions{}, WeightsOptions{.cache_file = folder / "model.paceline"}}) {
    const auto loaded = load(model, options);

    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().code, ErrorCode::kBadFile);
    EXPECT_NE(loaded.error().message.find("blk.1.ffn_up.weight"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "model.paceline"));
}

TEST_F(WeightsTest, ProgressRisesToTheTotal) {
  ModelConfig config = MemoryModel::small_config();
  config.vocab_rows = 9000;
  const MemoryModel model(config, 1);

  ASSERT_TRUE(load(model, {}).has_value());

  ASSERT_GT(progress_.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(progress_));
  EXPECT_EQ(progress_.back().first, progress_.back().second);
}

TEST_F(WeightsTest, LargestKeyBiasIsFoundPerLayer) {
  MemoryModel model(MemoryModel::small_config(), 1);
  model.tensor("blk.0.attn_k.bias").values[3] = -77.0F;
  model.tensor("blk.1.attn_q.bias").values[3] = 500.0F;
  model.tensor("blk.1.attn_v.bias").values[3] = 500.0F;

  for (const WeightsForm form : {WeightsForm::kInt8, WeightsForm::kF32}) {
    const auto loaded = load(model, {.form = form});
    ASSERT_TRUE(loaded.has_value());
    const std::vector<float> biases = loaded->weights.max_key_bias(model.config());

    EXPECT_EQ(biases[0], 77.0F);
    EXPECT_LT(biases[1], 2.0F);
  }
}

TEST_F(WeightsTest, TiedModelsLookEmbeddingsUpInTheHead) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  const auto loaded = load(model, {});
  ASSERT_TRUE(loaded.has_value());
  ASSERT_FALSE(loaded->weights.embedding.has_value());

  std::vector<float> row(64);
  loaded->weights.token_embedding().read_row(kernels_for(Isa::kScalar), 123, row);

  // Each rotated value is off by at most half a step, max / 127 / 2; their mean square is that of
  // the row, and 3.5 deviations bound the largest of 64 values here.
  const auto& values = model.tensor("token_embd.weight").values;
  double squares = 0;
  for (int i = 0; i < 64; ++i) {
    const double difference = double{row[static_cast<std::size_t>(i)]} -
                              double{values[123 * 64 + static_cast<std::size_t>(i)]};
    squares += difference * difference;
  }
  EXPECT_LT(std::sqrt(squares / 64), 3.5 * (1.0 / 8) / 127 / 2);
}

TEST_F(WeightsTest, LayersWiderThanTheKernelsAreRefused) {
  const MemoryModel model(MemoryModel::small_config(), 1);
  LinearSpec spec = head_spec(model.config());
  spec.columns = kMaxLinearColumns + 1;
  const LinearPacker packer(model, kernels_for(Isa::kScalar), team_, [](std::uint64_t) {});

  const auto packed = packer.pack_int8(spec);

  ASSERT_FALSE(packed.has_value());
  EXPECT_EQ(packed.error().code, ErrorCode::kBadFile);
}

TEST(PackedCachePathTest, LiesBesideTheModelOrInTheFolderGiven) {
  EXPECT_EQ(packed_cache_path("/m/qwen.gguf", ""), "/m/qwen.gguf.int8.paceline");
  EXPECT_EQ(packed_cache_path("/m/qwen.gguf", "/cache"), "/cache/qwen.gguf.int8.paceline");
  EXPECT_EQ(packed_cache_path("/m/folder/", ""), "/m/folder.int8.paceline");
}

}  // namespace
}  // namespace paceline
