#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor_type.h"
#include "tests/support/gguf_writer.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Shape and seed of a small random Qwen2. The defaults are those of the fixture TINY, except for
/// the vocabulary.
struct TinyModelOptions {
  std::uint64_t seed = 1;
  int hidden_size = 64;
  int n_layers = 2;
  int n_heads = 4;
  int n_kv_heads = 2;
  int ffn_size = 128;
  int max_context = 4096;
  /// Rows of the embedding; 0: the tokens and five rows of padding.
  int vocab_rows = 0;
  bool tied_embeddings = true;
  TensorType matrix_type = TensorType::kF16;  ///< kF16 or kF32
  TensorType norm_type = TensorType::kF32;    ///< kF16 or kF32; biases too
};

/// Qwen2 with random weights: matrices and biases N(0, 0.02), norms 1 + N(0, 0.02), the same on
/// every machine for the same seed. Written as GGUF or as a Hugging Face folder with the same
/// numbers.
class TinyModel {
 public:
  struct Tensor {
    std::string name;  ///< GGUF's
    int rows = 1;
    int columns = 0;
    bool is_matrix = false;
    std::vector<float> values;  ///< already rounded to the stored type
  };

  TinyModel(const TinyModelOptions& options, TokenizerSpec vocabulary);

  [[nodiscard]] const TinyModelOptions& options() const { return options_; }
  [[nodiscard]] const TokenizerSpec& vocabulary() const { return vocabulary_; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

  /// The model as a GGUF that a test may change before writing it.
  [[nodiscard]] GgufWriter gguf() const;
  void write_gguf(const std::filesystem::path& path) const { gguf().write(path); }
  /// Writes `<stem>-00001-of-00002.gguf` and the second part beside it; returns both paths. The
  /// second part holds the later half of the tensors.
  std::vector<std::filesystem::path> write_split_gguf(const std::filesystem::path& stem) const;
  /// Writes config.json, model.safetensors, tokenizer.json, tokenizer_config.json and
  /// generation_config.json into an existing folder.
  void write_hf_folder(const std::filesystem::path& folder) const;

 private:
  TinyModelOptions options_;
  TokenizerSpec vocabulary_;
  std::vector<Tensor> tensors_;
};

/// The synthetic model of unit tests: TINY's shape with the tiny vocabulary; needs no file.
[[nodiscard]] TinyModel make_tiny_model(const TinyModelOptions& options = {});

/// The fixture TINY: 151 936 rows and the defined tokens of a real vocabulary (unused ones at its
/// end are dropped).
[[nodiscard]] TinyModel make_tiny_model_with_vocabulary(TokenizerSpec vocabulary,
                                                        std::uint64_t seed = 1);

/// Returns Hugging Face's name of a tensor that has GGUF's name.
[[nodiscard]] std::string hf_tensor_name(std::string_view gguf_name);

}  // namespace paceline
