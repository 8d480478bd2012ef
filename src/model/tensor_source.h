#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace paceline {

/// Tensors of a model file, read as float32 whatever their stored type. Names are GGUF's
/// (`blk.0.attn_q.weight`), dimensions row-major: a weight matrix is [rows = outputs, columns =
/// inputs], a vector is [1, n]. Any thread.
class TensorSource {
 public:
  struct Shape {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    bool operator==(const Shape&) const = default;
  };

  virtual ~TensorSource() = default;
  [[nodiscard]] virtual bool has(std::string_view name) const = 0;
  /// All tensors, sorted; valid as long as the source.
  [[nodiscard]] virtual std::vector<std::string_view> names() const = 0;
  /// Errors: kBadFile when the tensor is missing.
  [[nodiscard]] virtual Result<Shape> shape(std::string_view name) const = 0;
  /// Dequantises rows [first_row, first_row + num_rows) into `out` [num_rows, columns].
  /// Errors: kBadFile naming tensor and file.
  [[nodiscard]] virtual Result<void> read_rows(std::string_view name, std::int64_t first_row,
                                               std::int64_t num_rows,
                                               std::span<float> out) const = 0;
  /// Name, byte sizes, types: whatever identifies the contents; hashed into the packed cache's key.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
};

}  // namespace paceline
