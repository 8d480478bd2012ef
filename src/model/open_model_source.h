#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/model_config.h"
#include "model/tensor_source.h"
#include "model/tokenizer_metadata.h"

namespace paceline {

/// A model as it comes from disk, checked: the config is consistent and every tensor that it needs
/// is there with the right shape.
struct ModelSource {
  ModelConfig config;
  std::unique_ptr<TensorSource> tensors;
  TokenizerMetadata tokenizer;
  /// Things that are odd but allowed, one line each, for the log.
  std::vector<std::string> warnings;
};

/// Opens a GGUF file (also the first part of a split one) or a Hugging Face folder, by what the
/// path is. Errors: kIo, kBadFile with one line naming the file and the spot.
[[nodiscard]] Result<ModelSource> open_model_source(const std::filesystem::path& path);

}  // namespace paceline
