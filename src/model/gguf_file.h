#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "model/gguf_metadata.h"
#include "model/mapped_file.h"
#include "model/mapped_tensors.h"

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

/// One GGUF file, version 2 or 3, little endian: mapped, and checked whole at open — every count,
/// length, offset and product before it is used — so that later reads cannot leave the file.
struct GgufFile {
  MappedFile mapping;
  GgufMetadata metadata;                                     ///< views the mapping
  std::map<std::string, StoredTensor, std::less<>> tensors;  ///< views the mapping

  /// Opens and checks a file. Errors: kIo when it cannot be read; kBadFile with one line that names
  /// the file, the tensor or key, what was found and what was expected.
  [[nodiscard]] static Result<GgufFile> open(const std::filesystem::path& path);
};

}  // namespace paceline
