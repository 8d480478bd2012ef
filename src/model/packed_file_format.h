#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Layout of a packed file, little endian:
///
///     0        Header; zeros up to 4096
///     4096     sections, each at a multiple of 4096, zeros between
///     …        table: one TableEntry per section, in the order of writing; ends the file
///
/// Checksums are XXH3-64.
namespace paceline::packed_file_format {

inline constexpr std::array<char, 8> kMagic = {'P', 'A', 'C', 'E', 'P', 'A', 'C', 'K'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kMaxSections = 65536;

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t num_sections;
  std::array<std::uint8_t, 16> key;
  std::uint64_t file_size;
  std::uint64_t table_offset;
  std::uint64_t table_hash;
  std::uint64_t header_hash;  ///< of the bytes before it
};
static_assert(sizeof(Header) == 64);

struct TableEntry {
  std::array<char, 96> name;  ///< padded with zeros, at least one
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t hash;
};
static_assert(sizeof(TableEntry) == 120);

inline std::string_view name_of(const TableEntry& entry) {
  return {entry.name.data(), ::strnlen(entry.name.data(), entry.name.size())};
}

}  // namespace paceline::packed_file_format
