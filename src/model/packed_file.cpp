#include "model/packed_file.h"

#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

#include "model/byte_reader.h"
#include "model/packed_file_format.h"

namespace paceline {
namespace {

using Kind = PackedFileProblem::Kind;
using packed_file_format::Header;
using packed_file_format::TableEntry;

tl::unexpected<PackedFileProblem> problem(Kind kind, const std::filesystem::path& path,
                                          const std::string& message) {
  return tl::unexpected(PackedFileProblem{kind, path.string() + ": " + message});
}

/// Reads the header and says what is wrong with it.
tl::expected<Header, PackedFileProblem> read_header(const std::filesystem::path& path,
                                                    std::span<const std::byte> bytes,
                                                    const PackedFileKey& key) {
  ByteReader reader(bytes);
  const auto header = reader.read<Header>();
  if (!header) return problem(Kind::kDamaged, path, "the packed file is cut short");
  if (header->magic != packed_file_format::kMagic) {
    return problem(Kind::kDamaged, path, "not a packed file: it does not begin with the magic");
  }
  if (header->version != packed_file_format::kVersion) {
    return problem(Kind::kStale, path,
                   "packed file of version " + std::to_string(header->version) + ", expected " +
                       std::to_string(packed_file_format::kVersion));
  }
  if (header->header_hash != XXH3_64bits(bytes.data(), offsetof(Header, header_hash))) {
    return problem(Kind::kDamaged, path, "the header's checksum does not match");
  }
  if (header->key != key.bytes) {
    return problem(Kind::kStale, path, "packed from another model file or in another form");
  }
  if (header->file_size != bytes.size()) {
    return problem(Kind::kDamaged, path,
                   "the packed file has " + std::to_string(bytes.size()) + " bytes, expected " +
                       std::to_string(header->file_size));
  }
  return *header;
}

/// Returns the bytes of the section table, checked against the header.
tl::expected<std::span<const std::byte>, PackedFileProblem> read_table(
    const std::filesystem::path& path, std::span<const std::byte> bytes, const Header& header) {
  const std::uint64_t table_size = std::uint64_t{header.num_sections} * sizeof(TableEntry);
  const bool is_inside = header.num_sections <= packed_file_format::kMaxSections &&
                         header.table_offset <= bytes.size() &&
                         table_size <= bytes.size() - header.table_offset;
  if (!is_inside) return problem(Kind::kDamaged, path, "the section table lies outside the file");
  const auto table = bytes.subspan(static_cast<std::size_t>(header.table_offset),
                                   static_cast<std::size_t>(table_size));
  if (XXH3_64bits(table.data(), table.size()) != header.table_hash) {
    return problem(Kind::kDamaged, path, "the section table's checksum does not match");
  }
  return table;
}

}  // namespace

PackedFileKey make_packed_file_key(std::string_view fingerprint, std::string_view packing) {
  std::string text(fingerprint);
  text += '\0';
  text += packing;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  PackedFileKey key;
  static_assert(sizeof canonical.digest == sizeof key.bytes);
  std::memcpy(key.bytes.data(), canonical.digest, sizeof canonical.digest);
  return key;
}

PackedFile::PackedFile(MappedFile mapping, Sections sections)
    : mapping_(std::move(mapping)), sections_(std::move(sections)) {}

tl::expected<PackedFile, PackedFileProblem> PackedFile::open(const std::filesystem::path& path,
                                                             const PackedFileKey& key) {
  std::error_code status_error;
  const auto type = std::filesystem::symlink_status(path, status_error).type();
  if (type == std::filesystem::file_type::not_found) {
    return problem(Kind::kMissing, path, "there is no packed file yet");
  }
  auto mapping = MappedFile::open(path);
  if (!mapping) {
    const bool is_empty = std::filesystem::is_regular_file(path, status_error) &&
                          std::filesystem::is_empty(path, status_error);
    return tl::unexpected(PackedFileProblem{is_empty ? Kind::kDamaged : Kind::kUnreadable,
                                            std::move(mapping.error().message)});
  }
  const std::span<const std::byte> bytes = mapping->bytes();
  const auto header = read_header(path, bytes, key);
  if (!header) return tl::unexpected(header.error());
  const auto table = read_table(path, bytes, *header);
  if (!table) return tl::unexpected(table.error());

  mapping->advise_will_need();
  Sections sections;
  ByteReader reader(*table);
  while (const auto entry = reader.read<TableEntry>()) {
    const std::string name(packed_file_format::name_of(*entry));
    if (entry->offset % kAlignment != 0 || entry->offset > bytes.size() ||
        entry->size > bytes.size() - entry->offset) {
      return problem(Kind::kDamaged, path,
                     "section " + quote_name(name) + " lies outside the file");
    }
    const auto section = bytes.subspan(static_cast<std::size_t>(entry->offset),
                                       static_cast<std::size_t>(entry->size));
    if (XXH3_64bits(section.data(), section.size()) != entry->hash) {
      return problem(Kind::kDamaged, path,
                     "the checksum of section " + quote_name(name) + " does not match");
    }
    sections.emplace(name, section);
  }
  return PackedFile(std::move(*mapping), std::move(sections));
}

std::optional<std::span<const std::byte>> PackedFile::section(std::string_view name) const {
  const auto it = sections_.find(name);
  if (it == sections_.end()) return std::nullopt;
  return it->second;
}

}  // namespace paceline
