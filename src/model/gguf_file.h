#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/gguf_metadata.h"
#include "model/mapped_file.h"
#include "model/tensor_source.h"
#include "model/tensor_type.h"

namespace paceline {

/// Bounds on what a GGUF header may claim, far above any real model; a claim beyond them is refused
/// before anything is allocated or walked.
struct GgufLimits {
  static constexpr std::uint64_t kMaxKeys = 65536;
  static constexpr std::uint64_t kMaxTensors = 65536;
  static constexpr std::uint64_t kMaxNameBytes = 1024;             ///< of a key or a tensor name
  static constexpr std::uint64_t kMaxStringBytes = 16ULL << 20;    ///< of a string value
  static constexpr std::uint64_t kMaxArrayElements = 16ULL << 20;  ///< of one array
  static constexpr std::uint32_t kMaxDimensions = 4;
  static constexpr std::uint64_t kMaxTensorValues = 1ULL << 40;
  static constexpr std::uint64_t kMaxAlignment = 1ULL << 20;
};

/// One tensor of a GGUF file: where it lies and what it is.
struct GgufTensor {
  TensorType type = TensorType::kF32;
  TensorSource::Shape shape;         ///< a vector is [1, n]
  std::span<const std::byte> bytes;  ///< views the mapping, whole
};

/// One GGUF file, version 2 or 3, little endian: mapped, and checked whole at open — every count,
/// length, offset and product before it is used — so that later reads cannot leave the file.
/// Immutable; any thread.
class GgufFile {
 public:
  /// Opens and checks a file. Errors: kIo when it cannot be read; kBadFile with one line that names
  /// the file, the tensor or key, what was found and what was expected.
  [[nodiscard]] static Result<std::unique_ptr<GgufFile>> open(const std::filesystem::path& path);

  [[nodiscard]] const GgufMetadata& metadata() const { return metadata_; }
  [[nodiscard]] const std::map<std::string_view, GgufTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return mapping_.bytes().size(); }

 private:
  GgufFile(std::filesystem::path path, MappedFile mapping, GgufMetadata metadata,
           std::map<std::string_view, GgufTensor> tensors);

  std::filesystem::path path_;
  MappedFile mapping_;
  GgufMetadata metadata_;
  std::map<std::string_view, GgufTensor> tensors_;
};

}  // namespace paceline
