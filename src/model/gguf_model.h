#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "model/gguf_file.h"
#include "model/tensor_source.h"

namespace paceline {

/// A model in one GGUF file or in all parts of a split one: the tensors of every part under one
/// name space. Owns the mappings. Any thread.
class GgufModel final : public TensorSource {
 public:
  /// Opens a file and, when it is the first part of a split model (`…-00001-of-00003.gguf` with
  /// `split.*` metadata), the other parts beside it. Errors: as GgufFile::open; kBadFile naming the
  /// path of a missing part, a part that is not the first, parts that do not belong together or a
  /// tensor stored twice.
  [[nodiscard]] static Result<std::unique_ptr<GgufModel>> open(const std::filesystem::path& path);

  /// Metadata of the only or first part.
  [[nodiscard]] const GgufMetadata& metadata() const { return parts_.front()->metadata(); }
  [[nodiscard]] std::vector<std::string_view> names() const override;

  [[nodiscard]] bool has(std::string_view name) const override;
  [[nodiscard]] Result<Shape> shape(std::string_view name) const override;
  [[nodiscard]] Result<void> read_rows(std::string_view name, std::int64_t first_row,
                                       std::int64_t num_rows, std::span<float> out) const override;
  [[nodiscard]] std::string fingerprint() const override;

 private:
  explicit GgufModel(std::vector<std::unique_ptr<GgufFile>> parts);
  [[nodiscard]] Result<const GgufTensor*> find(std::string_view name) const;

  std::vector<std::unique_ptr<GgufFile>> parts_;
  std::map<std::string_view, const GgufTensor*> tensors_;
};

}  // namespace paceline
