#include "model/open_model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/real_vocabulary.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<ModelSource> open_gguf(const GgufWriter& writer) {
  const TempFolder folder;
  writer.write(folder / "tiny.gguf");
  return open_model_source(folder / "tiny.gguf");
}

/// Opens the tiny model after a change.
Result<ModelSource> open_changed(const std::function<void(GgufWriter&)>& change) {
  GgufWriter writer = make_tiny_model().gguf();
  change(writer);
  return open_gguf(writer);
}

void expect_refused(const std::function<void(GgufWriter&)>& change, const std::string& message) {
  const Result<ModelSource> source = open_changed(change);

  ASSERT_FALSE(source) << "expected: " << message;
  EXPECT_EQ(source.error().code, ErrorCode::kBadFile);
  EXPECT_THAT(source.error().message, HasSubstr(message));
  EXPECT_THAT(source.error().message, HasSubstr("tiny.gguf"));
  EXPECT_EQ(source.error().message.find('\n'), std::string::npos);
}

void expect_warning(const std::function<void(GgufWriter&)>& change, const std::string& message) {
  const Result<ModelSource> source = open_changed(change);

  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(source->warnings, Contains(HasSubstr(message)));
}

/// Sets one dimension and makes the data fit it, so that only the shape is wrong.
void reshape(GgufWriter& writer, const std::string& name, std::vector<std::uint64_t> dimensions) {
  GgufWriter::Tensor& tensor = writer.tensor(name);
  std::size_t num_values = 1;
  for (const std::uint64_t dimension : dimensions) num_values *= dimension;
  const std::size_t value_size = tensor.type == 0 ? 4 : 2;
  tensor.dimensions = std::move(dimensions);
  tensor.bytes.resize(num_values * value_size);
}

TEST(ModelSourceTest, TinyModelOpensWithoutAnError) {
  const TinyModel tiny = make_tiny_model();

  const Result<ModelSource> source = open_gguf(tiny.gguf());

  ASSERT_TRUE(source) << source.error().message;
  const ModelConfig& config = source->config;
  EXPECT_EQ(config.name, "Tiny");
  EXPECT_EQ(config.n_layers, 2);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.n_heads, 4);
  EXPECT_EQ(config.n_kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.ffn_size, 128);
  EXPECT_EQ(config.max_context, 4096);
  EXPECT_EQ(config.vocab_rows, tiny.options().vocab_rows);
  EXPECT_EQ(config.rms_eps, 1e-6F);
  EXPECT_EQ(config.rope_theta, 1e6F);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(source->tokenizer.tokens, tiny.vocabulary().tokens);
  EXPECT_EQ(source->tokenizer.merges, tiny.vocabulary().merges);
  EXPECT_EQ(source->tokenizer.pre_tokenizer, "qwen2");
}

// M05: each hyper-parameter zero, huge, missing and of a wrong type.
class HyperParameterTest : public testing::TestWithParam<std::string> {};

TEST_P(HyperParameterTest, BadValuesAreRefusedByName) {
  const std::string key = "qwen2." + GetParam();
  const std::string named = "key '" + key + "'";
  constexpr std::uint32_t kArray = 9;

  expect_refused([&](GgufWriter& w) { w.set(key, 0U); }, named + ": expected 1 to ");
  expect_refused([&](GgufWriter& w) { w.set(key, 4294967295U); }, ", found 4294967295");
  expect_refused([&](GgufWriter& w) { w.set(key, std::int32_t{-1}); }, ", found -1");
  expect_refused([&](GgufWriter& w) { w.set(key, ~std::uint64_t{0}); }, named);
  expect_refused([&](GgufWriter& w) { w.remove_key(key); }, named + ": is missing");
  expect_refused([&](GgufWriter& w) { w.set_string(key, "2"); },
                 named + ": expected an integer, found string");
  expect_refused(
      [&](GgufWriter& w) {
        w.set_raw(key, kArray,
                  GgufWriter::raw_bytes(4U) + GgufWriter::raw_bytes(std::uint64_t{1}) +
                      GgufWriter::raw_bytes(2U));
      },
      named + ": expected an integer, found array of uint32");
}

INSTANTIATE_TEST_SUITE_P(Keys, HyperParameterTest,
                         testing::Values("block_count", "embedding_length", "attention.head_count",
                                         "attention.head_count_kv", "feed_forward_length",
                                         "context_length"),
                         [](const auto& key) {
                           std::string name = key.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(ModelSourceTest, DivisibilityIsChecked) {
  expect_refused([](GgufWriter& w) { w.set("qwen2.attention.head_count_kv", 8U); },
                 "key 'qwen2.attention.head_count_kv': expected a divisor of 4");
  expect_refused([](GgufWriter& w) { w.set("qwen2.attention.head_count_kv", 3U); },
                 "key 'qwen2.attention.head_count_kv': expected a divisor of 4");
  expect_refused([](GgufWriter& w) { w.set("qwen2.embedding_length", 66U); },
                 "key 'qwen2.embedding_length': expected an even multiple of 4");
  expect_refused([](GgufWriter& w) { w.set("qwen2.embedding_length", 60U); },
                 "key 'qwen2.embedding_length': expected an even multiple of 4");
  expect_refused([](GgufWriter& w) { w.set("qwen2.rope.dimension_count", 8U); },
                 "key 'qwen2.rope.dimension_count': expected 16");
  expect_refused([](GgufWriter& w) { w.set("qwen2.attention.key_length", 32U); },
                 "key 'qwen2.attention.key_length': expected 16");
}

TEST(ModelSourceTest, FloatsMustBeFiniteAndPositive) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* key : {"qwen2.attention.layer_norm_rms_epsilon", "qwen2.rope.freq_base"}) {
    const std::string named = std::string("key '") + key + "'";
    for (const float value : {0.0F, -1.0F, nan, infinity, -infinity}) {
      expect_refused([&](GgufWriter& w) { w.set(key, value); }, named + ": expected ");
    }
    expect_refused([&](GgufWriter& w) { w.set_string(key, "1"); },
                   named + ": expected a float, found string");
  }
}

// M06
TEST(ModelSourceTest, WrongShapesNameTensorAndBothShapes) {
  const std::string rows = std::to_string(make_tiny_model().options().vocab_rows);
  expect_refused(
      [](GgufWriter& w) {
        auto dimensions = w.tensor("token_embd.weight").dimensions;
        dimensions[0] += 1;
        reshape(w, "token_embd.weight", dimensions);
      },
      "tensor 'token_embd.weight' has the shape [" + rows + ", 65], expected [" + rows + ", 64]");
  expect_refused([](GgufWriter& w) { reshape(w, "blk.0.attn_q.bias", {63}); },
                 "tensor 'blk.0.attn_q.bias' has the shape [1, 63], expected [1, 64]");
  expect_refused(
      [](GgufWriter& w) {
        reshape(w, "blk.1.ffn_down.weight", {64, 128});
      },
      "tensor 'blk.1.ffn_down.weight' has the shape [128, 64], expected [64, 128]");
  expect_refused([](GgufWriter& w) { w.remove_tensor("token_embd.weight"); },
                 "tensor 'token_embd.weight' is missing");
  expect_refused([](GgufWriter& w) { w.set("qwen2.block_count", 3U); },
                 "tensor 'blk.2.attn_norm.weight' is missing, expected the shape [1, 64]");
}

TEST(ModelSourceTest, UnknownTensorIsAWarning) {
  expect_warning(
      [](GgufWriter& w) {
        w.add_tensor({"rope_freqs.weight", {8}, 0, std::string(32, '\0')});
      },
      "1 tensors are not used: 'rope_freqs.weight'");
}

TEST(ModelSourceTest, NormWeightsMayBeHalfOrFloat) {
  for (const TensorType type : {TensorType::kF16, TensorType::kF32}) {
    const Result<ModelSource> source = open_gguf(make_tiny_model({.norm_type = type}).gguf());

    ASSERT_TRUE(source) << source.error().message;
    std::vector<float> norm(64);
    EXPECT_TRUE(source->tensors->read_rows("output_norm.weight", 0, 1, norm));
    EXPECT_NEAR(norm[0], 1.0, 0.2);
  }
}

// M07
TEST(ModelSourceTest, HeadInTheFileUnties) {
  const Result<ModelSource> tied = open_gguf(make_tiny_model().gguf());
  const Result<ModelSource> untied = open_gguf(make_tiny_model({.tied_embeddings = false}).gguf());

  ASSERT_TRUE(tied) << tied.error().message;
  ASSERT_TRUE(untied) << untied.error().message;
  EXPECT_TRUE(tied->config.tied_embeddings);
  EXPECT_FALSE(untied->config.tied_embeddings);
  EXPECT_TRUE(untied->tensors->has("output.weight"));
}

// M09
TEST(ModelSourceTest, MissingMetadataIsAnErrorOrAWarning) {
  const auto without = [](const char* key) { return [key](GgufWriter& w) { w.remove_key(key); }; };
  expect_refused(without("tokenizer.ggml.tokens"), "key 'tokenizer.ggml.tokens': is missing");
  expect_refused(without("tokenizer.ggml.merges"), "key 'tokenizer.ggml.merges': is missing");
  expect_refused(without("tokenizer.ggml.model"), "key 'tokenizer.ggml.model': expected 'gpt2'");
  expect_refused([](GgufWriter& w) { w.set_string("tokenizer.ggml.pre", "llama-bpe"); },
                 "key 'tokenizer.ggml.pre': expected 'qwen2', the only supported split pattern, "
                 "found 'llama-bpe'");
  expect_warning(without("tokenizer.ggml.pre"), "key 'tokenizer.ggml.pre' is missing");
  expect_warning(without("tokenizer.chat_template"), "key 'tokenizer.chat_template' is missing");
  expect_warning(without("tokenizer.ggml.eos_token_id"),
                 "'tokenizer.ggml.eos_token_id' is missing");
  expect_warning(without("qwen2.rope.freq_base"),
                 "key 'qwen2.rope.freq_base' is missing, 1e+06 is used");
  expect_warning(without("qwen2.attention.layer_norm_rms_epsilon"), "is missing, 1e-06 is used");
}

// M10: the file's own end tokens; the tokenizer adds those known for Qwen.
TEST(ModelSourceTest, EndIdsComeFromBothKeysOnce) {
  const Result<ModelSource> source = open_changed([](GgufWriter& w) {
    w.set("tokenizer.ggml.eos_token_id", 265U);
    w.set("tokenizer.ggml.eot_token_id", 263U);
  });
  const Result<ModelSource> repeated =
      open_changed([](GgufWriter& w) { w.set("tokenizer.ggml.eot_token_id", 265U); });

  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(source->tokenizer.end_ids, ElementsAre(265, 263));
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_THAT(repeated->tokenizer.end_ids, ElementsAre(265));
}

// M11
TEST(ModelSourceTest, OtherArchitecturesAreRefusedWithWhatIsSupported) {
  constexpr const char* kKey = "general.architecture";
  for (const char* name : {"llama", "gemma2", "qwen2moe", "qwen3"}) {
    expect_refused([&](GgufWriter& w) { w.set_string(kKey, name); },
                   std::string("the architecture '") + name +
                       "' is not supported; supported: 'qwen2' (dense Qwen2 and Qwen2.5)");
  }
  expect_refused([&](GgufWriter& w) { w.set_string(kKey, ""); }, "is missing or empty; supported:");
  expect_refused([&](GgufWriter& w) { w.remove_key(kKey); }, "is missing or empty; supported:");
}

TEST(ModelSourceTest, FeaturesThatChangeTheComputationAreRefused) {
  expect_refused([](GgufWriter& w) { w.set_string("qwen2.rope.scaling.type", "yarn"); },
                 "RoPE scaling 'yarn' is not supported");
  expect_refused([](GgufWriter& w) { w.set("qwen2.attention.sliding_window", 4096U); },
                 "sliding-window attention is not supported");
}

TEST(ModelSourceTest, UnsupportedTensorTypeIsRefusedWithWhatIsSupported) {
  expect_refused([](GgufWriter& w) { w.tensor("blk.0.ffn_up.weight").type = 16; },
                 "tensor 'blk.0.ffn_up.weight' has the unsupported type number 16; supported: F32");
}

// M18
TEST(ModelSourceTest, TokensMustFitTheEmbedding) {
  const int num_tokens = static_cast<int>(make_tiny_model().vocabulary().tokens.size());

  const Result<ModelSource> padded = open_gguf(make_tiny_model().gguf());
  const Result<ModelSource> exact = open_gguf(make_tiny_model({.vocab_rows = num_tokens}).gguf());
  const Result<ModelSource> short_by_one =
      open_gguf(make_tiny_model({.vocab_rows = num_tokens - 1}).gguf());

  EXPECT_TRUE(padded) << padded.error().message;
  EXPECT_TRUE(exact) << exact.error().message;
  ASSERT_FALSE(short_by_one);
  EXPECT_THAT(short_by_one.error().message,
              HasSubstr("key 'tokenizer.ggml.tokens' has 267 tokens, expected at most the 266 rows "
                        "of tensor 'token_embd.weight'"));
}

TEST(ModelSourceTest, TokenizerFieldsThatDoNotFitAreRefused) {
  expect_refused([](GgufWriter& w) { w.set("tokenizer.ggml.eos_token_id", 200000U); },
                 "key 'tokenizer.ggml.eos_token_id': expected an id below 267, found 200000");
  expect_refused([](GgufWriter& w) { w.set("tokenizer.ggml.eos_token_id", std::int32_t{-1}); },
                 "found -1");
  expect_refused(
      [](GgufWriter& w) {
        w.set_int32s("tokenizer.ggml.token_type", {1, 1});
      },
      "key 'tokenizer.ggml.token_type': expected one per token (267), found 2");
  expect_refused(
      [](GgufWriter& w) {
        w.set_int32s("tokenizer.ggml.token_type", std::vector<std::int32_t>(267, 9));
      },
      "key 'tokenizer.ggml.token_type': expected 1 to 6, found 9");
  for (const char* merge : {"ab", " a", "a ", "a b c", ""}) {
    expect_refused(
        [&](GgufWriter& w) {
          w.set_strings("tokenizer.ggml.merges", {"H e", merge});
        },
        "expected two pieces with one space between");
  }
}

TEST(ModelSourceTest, RealModelOpens) {
  const auto path = test_model_path();
  if (!path) GTEST_SKIP() << "needs PACELINE_TEST_MODEL";

  const Result<ModelSource> source = open_model_source(*path);

  ASSERT_TRUE(source) << source.error().message;
  EXPECT_THAT(source->warnings, IsEmpty());
  EXPECT_EQ(source->config.hidden_size, source->config.n_heads * source->config.head_dim);
  EXPECT_LE(source->tokenizer.tokens.size(), static_cast<std::size_t>(source->config.vocab_rows));
  EXPECT_THAT(source->tokenizer.end_ids, Contains(151645));
}

TEST(ModelSourceTest, PathThatIsNoModelIsAnError) {
  const TempFolder folder;

  const Result<ModelSource> missing = open_model_source(folder / "absent.gguf");
  const Result<ModelSource> empty_folder = open_model_source(folder.path());

  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("absent.gguf: cannot open: No such file"));
  ASSERT_FALSE(empty_folder);
  EXPECT_THAT(empty_folder.error().message, HasSubstr("config.json: cannot open: No such file"));
}

}  // namespace
}  // namespace paceline
