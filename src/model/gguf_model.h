#pragma once

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "model/gguf_metadata.h"
#include "model/tensor_source.h"

namespace paceline {

/// A model in one GGUF file or in all parts of a split one.
struct GgufModel {
  /// Metadata of the only or first part; valid as long as `tensors`.
  GgufMetadata metadata;
  /// Tensors of all parts.
  std::unique_ptr<TensorSource> tensors;
};

/// Opens a GGUF file and, when it is the first part of a split model (`…-00001-of-00003.gguf` with
/// `split.*` metadata), the other parts beside it. Errors: as GgufFile::open; kBadFile naming the
/// path of a missing part, a part that is not the first, parts that do not belong together or a
/// tensor stored twice.
[[nodiscard]] Result<GgufModel> open_gguf_model(const std::filesystem::path& path);

}  // namespace paceline
