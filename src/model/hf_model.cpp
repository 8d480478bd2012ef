#include "model/hf_model.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "model/byte_reader.h"
#include "model/hf_config.h"
#include "model/mapped_tensors.h"
#include "model/safetensors_file.h"

namespace paceline {
namespace {

using Tensors = std::map<std::string, StoredTensor, std::less<>>;

/// Largest JSON or template file beside the weights, bytes; a tokenizer_config.json has about 10
/// KB, the index of a 7B model 30 KB.
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

Result<std::string> read_text(const std::filesystem::path& path) {
  auto mapping = MappedFile::open(path);
  if (!mapping) return tl::unexpected(std::move(mapping.error()));
  if (mapping->bytes().size() > kMaxTextBytes) {
    return fail(ErrorCode::kBadFile, path.string() + ": expected at most " +
                                         std::to_string(kMaxTextBytes) + " bytes, found " +
                                         std::to_string(mapping->bytes().size()));
  }
  return std::string(as_text(mapping->bytes()));
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Weight files of the folder, opened, and their tensors under GGUF's names where they have one.
struct Weights {
  std::vector<MappedFile> mappings;
  Tensors tensors;
};

Result<void> add_file(Weights& weights, const std::filesystem::path& path) {
  auto file = SafetensorsFile::open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  for (const auto& [name, tensor] : file->tensors) {
    if (!weights.tensors.emplace(gguf_tensor_name(name).value_or(name), tensor).second) {
      return fail(ErrorCode::kBadFile,
                  path.string() + ": tensor " + quote_name(name) + " is stored twice");
    }
  }
  weights.mappings.push_back(std::move(file->mapping));
  return {};
}

Result<Weights> open_parts(const std::filesystem::path& index) {
  auto text = read_text(index);
  if (!text) return tl::unexpected(std::move(text.error()));
  auto weight_map = parse_safetensors_index(*text, index.string());
  if (!weight_map) return tl::unexpected(std::move(weight_map.error()));
  std::set<std::string> files;
  for (const auto& [name, file] : *weight_map) files.insert(file);
  Weights weights;
  for (const std::string& file : files) {
    if (auto added = add_file(weights, index.parent_path() / file); !added) {
      return tl::unexpected(std::move(added.error()));
    }
  }
  return weights;
}

Result<Weights> open_weights(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (is_there(index)) return open_parts(index);
  Weights weights;
  if (auto added = add_file(weights, folder / "model.safetensors"); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  return weights;
}

Result<std::vector<std::int32_t>> read_end_ids(const std::filesystem::path& folder,
                                               std::vector<std::int32_t> from_config) {
  const std::filesystem::path path = folder / "generation_config.json";
  if (!is_there(path)) return from_config;
  auto text = read_text(path);
  if (!text) return tl::unexpected(std::move(text.error()));
  auto ids = parse_hf_end_ids(*text, path.string());
  if (ids && ids->empty()) return from_config;
  return ids;
}

Result<std::string> read_chat_template(const std::filesystem::path& folder) {
  if (is_there(folder / "chat_template.jinja")) return read_text(folder / "chat_template.jinja");
  const std::filesystem::path path = folder / "tokenizer_config.json";
  if (!is_there(path)) return std::string();
  return read_text(path).and_then(
      [&](const std::string& text) { return parse_hf_chat_template(text, path.string()); });
}

Result<TokenizerMetadata> read_tokenizer(const std::filesystem::path& folder,
                                         const HfConfig& config,
                                         std::vector<std::string>& warnings) {
  TokenizerMetadata tokenizer;
  tokenizer.tokenizer_json = folder / "tokenizer.json";
  if (!is_there(tokenizer.tokenizer_json)) {
    return fail(ErrorCode::kBadFile, tokenizer.tokenizer_json.string() + ": the file is missing");
  }
  auto end_ids = read_end_ids(folder, config.end_ids);
  if (!end_ids) return tl::unexpected(std::move(end_ids.error()));
  tokenizer.end_ids = std::move(*end_ids);
  if (tokenizer.end_ids.empty()) {
    warnings.push_back(folder.string() +
                       ": no 'eos_token_id', only the end tokens known for Qwen are used");
  }
  auto chat_template = read_chat_template(folder);
  if (!chat_template) return tl::unexpected(std::move(chat_template.error()));
  if (chat_template->empty()) {
    warnings.push_back(folder.string() + ": no chat template, Qwen's ChatML is used");
  }
  tokenizer.chat_template = std::move(*chat_template);
  return tokenizer;
}

}  // namespace

std::optional<std::string> gguf_tensor_name(std::string_view hf_name) {
  using NamePair = std::pair<std::string_view, std::string_view>;
  constexpr std::array<NamePair, 3> kGlobal = {{
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"},
  }};
  constexpr std::array<NamePair, 9> kLayer = {{
      {"input_layernorm.", "attn_norm."},
      {"self_attn.q_proj.", "attn_q."},
      {"self_attn.k_proj.", "attn_k."},
      {"self_attn.v_proj.", "attn_v."},
      {"self_attn.o_proj.", "attn_output."},
      {"post_attention_layernorm.", "ffn_norm."},
      {"mlp.gate_proj.", "ffn_gate."},
      {"mlp.up_proj.", "ffn_up."},
      {"mlp.down_proj.", "ffn_down."},
  }};
  for (const auto& [hf, gguf] : kGlobal) {
    if (hf_name == hf) return std::string(gguf);
  }
  constexpr std::string_view kLayers = "model.layers.";
  if (!hf_name.starts_with(kLayers)) return std::nullopt;
  const std::string_view rest = hf_name.substr(kLayers.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view layer = rest.substr(0, dot);
  const std::string_view part = rest.substr(dot + 1);
  for (const auto& [hf, gguf] : kLayer) {
    if (!part.starts_with(hf)) continue;
    return "blk." + std::string(layer) + "." + std::string(gguf) +
           std::string(part.substr(hf.size()));
  }
  return std::nullopt;
}

Result<HfModel> open_hf_model(const std::filesystem::path& folder,
                              std::vector<std::string>& warnings) {
  const std::filesystem::path config_path = folder / "config.json";
  auto text = read_text(config_path);
  if (!text) return tl::unexpected(std::move(text.error()));
  auto config = parse_hf_config(*text, config_path.string(), warnings);
  if (!config) return tl::unexpected(std::move(config.error()));
  auto weights = open_weights(folder);
  if (!weights) return tl::unexpected(std::move(weights.error()));
  auto tokenizer = read_tokenizer(folder, *config, warnings);
  if (!tokenizer) return tl::unexpected(std::move(tokenizer.error()));
  if (config->config.tied_embeddings) weights->tensors.erase("output.weight");

  HfModel model;
  model.config = std::move(config->config);
  model.tensors = std::make_unique<MappedTensors>(folder.string(), std::move(weights->mappings),
                                                  std::move(weights->tensors));
  model.tokenizer = std::move(*tokenizer);
  return model;
}

}  // namespace paceline
