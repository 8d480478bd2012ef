#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/mapped_file.h"
#include "model/mapped_tensors.h"

namespace paceline {

/// One safetensors file: mapped, its header checked whole at open, so that later reads cannot leave
/// the file. Source: the safetensors format description.
struct SafetensorsFile {
  /// Longest header that is read, bytes; the format's own limit.
  static constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

  MappedFile mapping;
  std::map<std::string, StoredTensor, std::less<>> tensors;  ///< by their names in the file

  /// Errors: kIo when it cannot be read; kBadFile with one line that names the file, the tensor,
  /// what was found and what was expected.
  [[nodiscard]] static Result<SafetensorsFile> open(const std::filesystem::path& path);
};

/// Reads the text of a `model.safetensors.index.json`: tensor name → file name in the same folder.
/// Errors: kBadFile, also for a file name that leaves the folder.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_safetensors_index(
    std::string_view text, const std::string& file);

}  // namespace paceline
