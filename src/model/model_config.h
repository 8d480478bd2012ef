#pragma once

#include <string>

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
  bool tied_embeddings = true;  ///< no output.weight in the file: the head is token_embd
};

}  // namespace paceline
