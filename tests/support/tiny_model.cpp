#include "tests/support/tiny_model.h"

#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "model/model_config.h"
#include "model/tensor_check.h"
#include "tests/support/tiny_vocabulary.h"

namespace paceline {
namespace {

/// Counter-based random numbers; the same on every machine. Source: SplitMix64.
class RandomWeights {
 public:
  explicit RandomWeights(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL) {}

  /// Nearly normal with deviation 0.02: the sum of twelve uniform numbers has variance 1 (times the
  /// square of the range), and is exact in integers.
  float next() {
    std::int64_t sum = 0;
    for (int i = 0; i < 3; ++i) {
      std::uint64_t bits = next_bits();
      for (int j = 0; j < 4; ++j, bits >>= 16) sum += static_cast<std::int64_t>(bits & 0xffff);
    }
    return static_cast<float>(sum - 12 * 32768) * (0.02F / 65536.0F);
  }

 private:
  std::uint64_t next_bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

/// Rounds a float of at most 65504 to half, to nearest even.
std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude < 0x38800000U) {  // below 2^-14: subnormal, a multiple of 2^-24
    const float scaled = std::bit_cast<float>(magnitude) + 0.5F;  // the addition rounds
    const std::uint32_t units =
        std::bit_cast<std::uint32_t>(scaled) - std::bit_cast<std::uint32_t>(0.5F);
    return static_cast<std::uint16_t>(sign | units);
  }
  const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U) - (112U << 23);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}

/// Inverse of to_half for finite values.
float from_half(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffU;
  const float value = magnitude < 0x400U ? static_cast<float>(magnitude) * 0x1p-24F
                                         : std::bit_cast<float>((magnitude << 13) + (112U << 23));
  return (half & 0x8000U) != 0 ? -value : value;
}

std::string stored_bytes(const std::vector<float>& values, TensorType type) {
  std::string bytes;
  if (type == TensorType::kF32) {
    bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return bytes;
  }
  bytes.reserve(values.size() * 2);
  for (const float value : values) bytes += GgufWriter::raw_bytes(to_half(value));
  return bytes;
}

ModelConfig config_of(const TinyModelOptions& options) {
  ModelConfig config;
  config.n_layers = options.n_layers;
  config.hidden_size = options.hidden_size;
  config.n_heads = options.n_heads;
  config.n_kv_heads = options.n_kv_heads;
  config.head_dim = options.hidden_size / options.n_heads;
  config.ffn_size = options.ffn_size;
  config.max_context = options.max_context;
  config.vocab_rows = options.vocab_rows;
  config.tied_embeddings = options.tied_embeddings;
  return config;
}

TensorType stored_type(const TinyModelOptions& options, const TinyModel::Tensor& tensor) {
  return tensor.is_matrix ? options.matrix_type : options.norm_type;
}

TinyModel::Tensor random_tensor(const ExpectedTensor& expected, const TinyModelOptions& options,
                                RandomWeights& random) {
  TinyModel::Tensor tensor;
  tensor.name = expected.name;
  tensor.rows = static_cast<int>(expected.shape.rows);
  tensor.columns = static_cast<int>(expected.shape.columns);
  const bool is_norm = expected.name.ends_with("norm.weight");
  tensor.is_matrix = !is_norm && expected.name.ends_with(".weight");
  const bool is_half = stored_type(options, tensor) == TensorType::kF16;
  tensor.values.resize(static_cast<std::size_t>(expected.shape.rows * expected.shape.columns));
  for (float& value : tensor.values) {
    value = random.next() + (is_norm ? 1.0F : 0.0F);
    if (is_half) value = from_half(to_half(value));
  }
  return tensor;
}

std::vector<std::int32_t> type_numbers(const TokenizerSpec& vocabulary) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(vocabulary.types.size());
  for (const TokenType type : vocabulary.types) numbers.push_back(static_cast<std::int32_t>(type));
  return numbers;
}

std::vector<std::string> joined_merges(const TokenizerSpec& vocabulary) {
  std::vector<std::string> merges;
  merges.reserve(vocabulary.merges.size());
  for (const auto& [left, right] : vocabulary.merges) merges.push_back(left + " " + right);
  return merges;
}

}  // namespace

TinyModel::TinyModel(const TinyModelOptions& options, TokenizerSpec vocabulary)
    : options_(options), vocabulary_(std::move(vocabulary)) {
  constexpr int kPaddingRows = 5;
  if (options_.vocab_rows == 0) {
    options_.vocab_rows = static_cast<int>(vocabulary_.tokens.size()) + kPaddingRows;
  }
  RandomWeights random(options_.seed);
  for (const ExpectedTensor& expected : expected_tensors(config_of(options_))) {
    tensors_.push_back(random_tensor(expected, options_, random));
  }
}

GgufWriter TinyModel::gguf() const {
  const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufWriter writer;
  writer.set_string("general.architecture", "qwen2");
  writer.set_string("general.name", "Tiny");
  writer.set("qwen2.block_count", number(options_.n_layers));
  writer.set("qwen2.context_length", number(options_.max_context));
  writer.set("qwen2.embedding_length", number(options_.hidden_size));
  writer.set("qwen2.feed_forward_length", number(options_.ffn_size));
  writer.set("qwen2.attention.head_count", number(options_.n_heads));
  writer.set("qwen2.attention.head_count_kv", number(options_.n_kv_heads));
  writer.set("qwen2.attention.layer_norm_rms_epsilon", 1e-6F);
  writer.set("qwen2.rope.freq_base", 1e6F);
  writer.set_string("tokenizer.ggml.model", "gpt2");
  writer.set_string("tokenizer.ggml.pre", "qwen2");
  writer.set_strings("tokenizer.ggml.tokens", vocabulary_.tokens);
  if (!vocabulary_.types.empty()) {
    writer.set_int32s("tokenizer.ggml.token_type", type_numbers(vocabulary_));
  }
  writer.set_strings("tokenizer.ggml.merges", joined_merges(vocabulary_));
  if (!vocabulary_.end_ids.empty()) {
    writer.set("tokenizer.ggml.eos_token_id",
               static_cast<std::uint32_t>(vocabulary_.end_ids.front()));
  }
  if (!vocabulary_.chat_template.empty()) {
    writer.set_string("tokenizer.chat_template", vocabulary_.chat_template);
  }
  for (const Tensor& tensor : tensors_) {
    GgufWriter::Tensor stored;
    stored.name = tensor.name;
    stored.dimensions = {static_cast<std::uint64_t>(tensor.columns)};
    if (tensor.is_matrix) stored.dimensions.push_back(static_cast<std::uint64_t>(tensor.rows));
    const TensorType type = stored_type(options_, tensor);
    stored.type = static_cast<std::uint32_t>(type);
    stored.bytes = stored_bytes(tensor.values, type);
    writer.add_tensor(std::move(stored));
  }
  return writer;
}

std::vector<std::filesystem::path> TinyModel::write_split_gguf(
    const std::filesystem::path& stem) const {
  GgufWriter first = gguf();
  GgufWriter second;
  second.set_string("general.architecture", "qwen2");
  const std::size_t num_tensors = tensors_.size();
  for (std::size_t i = num_tensors / 2; i < num_tensors; ++i) {
    second.add_tensor(first.tensor(tensors_[i].name));
    first.remove_tensor(tensors_[i].name);
  }
  std::vector<std::filesystem::path> paths;
  std::uint16_t index = 0;
  for (GgufWriter* part : {&first, &second}) {
    part->set("split.no", index++);
    part->set("split.count", std::uint16_t{2});
    part->set("split.tensors.count", static_cast<std::int32_t>(num_tensors));
    paths.emplace_back(stem.string() + "-0000" + std::to_string(index) + "-of-00002.gguf");
    part->write(paths.back());
  }
  return paths;
}

TinyModel make_tiny_model(const TinyModelOptions& options) {
  TokenizerSpec vocabulary = tiny_vocabulary();
  return TinyModel(options, std::move(vocabulary));
}

TinyModel make_tiny_model_with_vocabulary(TokenizerSpec vocabulary, std::uint64_t seed) {
  while (!vocabulary.types.empty() && vocabulary.types.back() == TokenType::kUnused) {
    vocabulary.types.pop_back();
    vocabulary.tokens.pop_back();
  }
  TinyModelOptions options;
  options.seed = seed;
  options.vocab_rows = 151936;
  return TinyModel(options, std::move(vocabulary));
}

}  // namespace paceline
