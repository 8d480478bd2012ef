// The Hugging Face form of the tiny model: JSON files and safetensors.

#include <array>
#include <boost/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/safetensors_writer.h"
#include "tests/support/tiny_model.h"
#include "tokenizer/pre_tokenizer.h"

namespace paceline {
namespace {

namespace json = boost::json;

json::object config_json(const TinyModel& model) {
  const TinyModelOptions& options = model.options();
  return {{"architectures", {"Qwen2ForCausalLM"}},
          {"model_type", "qwen2"},
          {"hidden_act", "silu"},
          {"hidden_size", options.hidden_size},
          {"intermediate_size", options.ffn_size},
          {"max_position_embeddings", options.max_context},
          {"num_attention_heads", options.n_heads},
          {"num_hidden_layers", options.n_layers},
          {"num_key_value_heads", options.n_kv_heads},
          {"rms_norm_eps", 1e-6},
          {"rope_theta", 1000000.0},
          {"sliding_window", 32768},
          {"tie_word_embeddings", options.tied_embeddings},
          {"use_sliding_window", false},
          {"vocab_size", options.vocab_rows}};
}

json::object tokenizer_json(const TokenizerSpec& spec) {
  json::object vocab;
  json::array added;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const TokenType type = spec.types.empty() ? TokenType::kNormal : spec.types[id];
    if (type == TokenType::kNormal) {
      vocab[spec.tokens[id]] = id;
    } else {
      added.push_back(json::object{{"id", id},
                                   {"content", spec.tokens[id]},
                                   {"normalized", false},
                                   {"special", type == TokenType::kControl}});
    }
  }
  json::array merges;
  for (const auto& [left, right] : spec.merges) merges.emplace_back(left + " " + right);
  const json::object split = {{"type", "Split"},
                              {"pattern", {{"Regex", qwen2_split_pattern()}}},
                              {"behavior", "Isolated"},
                              {"invert", false}};
  const json::object byte_level = {{"type", "ByteLevel"},
                                   {"add_prefix_space", false},
                                   {"trim_offsets", false},
                                   {"use_regex", false}};
  return {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", {{"type", "NFC"}}},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", json::array{split, byte_level}}}},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

}  // namespace

std::string hf_tensor_name(std::string_view gguf_name) {
  if (gguf_name == "token_embd.weight") return "model.embed_tokens.weight";
  if (gguf_name == "output_norm.weight") return "model.norm.weight";
  if (gguf_name == "output.weight") return "lm_head.weight";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kParts = {{
      {"attn_norm", "input_layernorm"},
      {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"},
      {"ffn_norm", "post_attention_layernorm"},
      {"ffn_gate", "mlp.gate_proj"},
      {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"},
  }};
  // blk.<layer>.<part>.<weight or bias>
  const std::size_t layer_end = gguf_name.find('.', 4);
  const std::size_t part_end = gguf_name.rfind('.');
  const std::string_view part = gguf_name.substr(layer_end + 1, part_end - layer_end - 1);
  for (const auto& [gguf, hf] : kParts) {
    if (part != gguf) continue;
    return "model.layers." + std::string(gguf_name.substr(4, layer_end - 4)) + "." +
           std::string(hf) + std::string(gguf_name.substr(part_end));
  }
  throw std::invalid_argument("no Hugging Face name for " + std::string(gguf_name));
}

void TinyModel::write_hf_folder(const std::filesystem::path& folder) const {
  SafetensorsWriter weights;
  const GgufWriter stored = gguf();
  for (const GgufWriter::Tensor& tensor : stored.tensors()) {
    std::vector<std::uint64_t> shape(tensor.dimensions.rbegin(), tensor.dimensions.rend());
    const bool is_half = tensor.type == static_cast<std::uint32_t>(TensorType::kF16);
    weights.add({hf_tensor_name(tensor.name), is_half ? "F16" : "F32", shape, tensor.bytes});
  }
  weights.write(folder / "model.safetensors");
  write_file(folder / "config.json", json::serialize(config_json(*this)));
  write_file(folder / "tokenizer.json", json::serialize(tokenizer_json(vocabulary_)));
  write_file(folder / "tokenizer_config.json",
             json::serialize(json::object{{"chat_template", vocabulary_.chat_template}}));
  json::array end_ids(vocabulary_.end_ids.begin(), vocabulary_.end_ids.end());
  write_file(folder / "generation_config.json",
             json::serialize(json::object{{"eos_token_id", end_ids}}));
}

}  // namespace paceline
