#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/mapped_file.h"
#include "model/tensor_source.h"
#include "model/tensor_type.h"

namespace paceline {

/// One tensor of a model file: what it is and where its bytes lie.
struct StoredTensor {
  TensorType type = TensorType::kF32;
  TensorSource::Shape shape;         ///< a vector is [1, n]
  std::span<const std::byte> bytes;  ///< views the mapping: all rows, each in whole blocks
};

/// Tensors of one or several mapped files under one name space, whatever the format. Owns the
/// mappings. Immutable; any thread.
class MappedTensors final : public TensorSource {
 public:
  /// `label` names the model in messages. Requires: every tensor's bytes lie in one of the files
  /// and have the size that type and shape say.
  MappedTensors(std::string label, std::vector<MappedFile> files,
                std::map<std::string, StoredTensor, std::less<>> tensors);

  [[nodiscard]] bool has(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string_view> names() const override;
  [[nodiscard]] Result<Shape> shape(std::string_view name) const override;
  [[nodiscard]] Result<void> read_rows(std::string_view name, std::int64_t first_row,
                                       std::int64_t num_rows, std::span<float> out) const override;
  /// Hash over the sizes and modification times of the files, names, types and shapes of the
  /// tensors, and the first bytes of each tensor.
  [[nodiscard]] std::string fingerprint() const override;

 private:
  [[nodiscard]] Result<const StoredTensor*> find(std::string_view name) const;

  std::string label_;
  std::vector<MappedFile> files_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

/// Returns `[rows, columns]` for messages.
[[nodiscard]] std::string to_string(const TensorSource::Shape& shape);

}  // namespace paceline
