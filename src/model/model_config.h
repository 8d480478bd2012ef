#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace paceline {

/// Shape of a Qwen2/2.5 dense decoder, from the file, checked: every product fits, every
/// divisibility holds.
struct ModelConfig {
  std::string name;             ///< general.name; empty when the file has none
  int n_layers = 0;             ///< block_count
  int hidden_size = 0;          ///< embedding_length
  int n_heads = 0;              ///< attention.head_count
  int n_kv_heads = 0;           ///< attention.head_count_kv; n_heads % n_kv_heads == 0
  int head_dim = 0;             ///< hidden_size / n_heads, even
  int ffn_size = 0;             ///< feed_forward_length
  int max_context = 0;          ///< context_length, tokens
  int vocab_rows = 0;           ///< rows of token_embd; ≥ defined ids
  float rms_eps = 1e-6F;        ///< attention.layer_norm_rms_epsilon
  float rope_theta = 1e6F;      ///< rope.freq_base
  bool tied_embeddings = true;  ///< the head is token_embd; else it is output.weight
};

/// Largest sizes that are accepted: about ten times the largest Qwen2.5, small enough that no
/// product of a row or a layer overflows.
struct ModelLimits {
  static constexpr std::int64_t kMaxLayers = 1024;
  static constexpr std::int64_t kMaxHiddenSize = 65536;
  static constexpr std::int64_t kMaxHeads = 1024;
  static constexpr std::int64_t kMaxFfnSize = 1 << 20;
  static constexpr std::int64_t kMaxContext = 1 << 24;
  static constexpr std::int64_t kMaxVocabRows = 1 << 22;
};

/// A number of a model file as it was read, with the name of its key there; nothing when absent.
template <typename T>
struct ConfigField {
  std::string key;
  std::optional<T> value;
};

/// The numbers that make a ModelConfig, read but not checked.
struct ConfigFields {
  std::string file;  ///< for messages
  ConfigField<std::int64_t> n_layers;
  ConfigField<std::int64_t> hidden_size;
  ConfigField<std::int64_t> n_heads;
  ConfigField<std::int64_t> n_kv_heads;
  ConfigField<std::int64_t> ffn_size;
  ConfigField<std::int64_t> max_context;
  std::vector<ConfigField<std::int64_t>> head_dims;  ///< if present, must be hidden_size / n_heads
  ConfigField<double> rms_eps;                       ///< absent: 1e-6
  ConfigField<double> rope_theta;  ///< absent: 1e6, the value of all Qwen2.5 models
};

/// Checks ranges and divisibility; leaves name, vocab_rows and tied_embeddings alone. An absent
/// rms_eps or rope_theta takes its default with a warning, any other absent field is an error.
/// Errors: kBadFile naming file and key, what was found and what was expected.
[[nodiscard]] Result<ModelConfig> check_config(const ConfigFields& fields,
                                               std::vector<std::string>& warnings);

/// Refuses every architecture but Qwen2's. `what` names the key and `value` its text; empty:
/// absent. Errors: kBadFile naming what was found and what is supported.
[[nodiscard]] Result<void> check_architecture(std::string_view file, std::string_view what,
                                              std::string_view value);

}  // namespace paceline
