#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/model_config.h"
#include "model/tensor_source.h"
#include "model/tokenizer_metadata.h"

namespace paceline {

/// A model in a Hugging Face folder.
struct HfModel {
  ModelConfig config;
  /// Tensors under GGUF's names. With tied embeddings a stored head is left out, as the reference
  /// implementation ignores it.
  std::unique_ptr<TensorSource> tensors;
  /// tokenizer_json, end_ids and chat_template are set.
  TokenizerMetadata tokenizer;
};

/// Opens a folder with config.json, tokenizer.json, model.safetensors or
/// model.safetensors.index.json and its parts, and, if present, generation_config.json,
/// tokenizer_config.json and chat_template.jinja. Errors: kIo, kBadFile naming the file and the
/// spot.
[[nodiscard]] Result<HfModel> open_hf_model(const std::filesystem::path& folder,
                                            std::vector<std::string>& warnings);

/// Returns GGUF's name of a Hugging Face Qwen2 tensor; nothing when it is none.
[[nodiscard]] std::optional<std::string> gguf_tensor_name(std::string_view hf_name);

}  // namespace paceline
