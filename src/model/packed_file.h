#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "model/mapped_file.h"

namespace paceline {

/// Identity of a packed file's contents: 128-bit hash of the source's fingerprint and of everything
/// that decides the packed bytes.
struct PackedFileKey {
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const PackedFileKey&) const = default;
};

/// `packing` names layout, layout version, weight type, rotation and so on; a change of any must
/// change the text.
[[nodiscard]] PackedFileKey make_packed_file_key(std::string_view fingerprint,
                                                 std::string_view packing);

/// Why a packed file cannot be used. All but kUnreadable are cured by making it anew.
struct PackedFileProblem {
  enum class Kind {
    kMissing,
    kStale,       ///< another format version or another key
    kDamaged,     ///< cut short, or a checksum does not match
    kUnreadable,  ///< no permission, not a regular file, I/O error
  };
  Kind kind;
  std::string message;  ///< one line naming the file
};

/// Cache file of packed weights: named sections of bytes, mapped; layout in packed_file_format.h.
/// Written once by PackedFileWriter, never changed. Movable; sections keep their address. Any
/// thread.
class PackedFile {
 public:
  /// Sections begin at multiples of it, bytes.
  static constexpr std::size_t kAlignment = 4096;

  /// Maps a file and verifies header, key, section table and every section's checksum (about 0.1 s
  /// for 500 MB in the page cache).
  [[nodiscard]] static tl::expected<PackedFile, PackedFileProblem> open(
      const std::filesystem::path& path, const PackedFileKey& key);

  /// Bytes of a section, aligned to kAlignment; nothing when there is no such section.
  [[nodiscard]] std::optional<std::span<const std::byte>> section(std::string_view name) const;
  [[nodiscard]] std::size_t num_sections() const { return sections_.size(); }
  /// Of the whole file.
  [[nodiscard]] std::size_t size_bytes() const { return mapping_.bytes().size(); }

 private:
  using Sections = std::map<std::string, std::span<const std::byte>, std::less<>>;
  PackedFile(MappedFile mapping, Sections sections);

  MappedFile mapping_;
  Sections sections_;
};

}  // namespace paceline
