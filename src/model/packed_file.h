#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
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
  std::string message;
};

/// Cache file of packed weights: named sections of bytes, mapped. Layout, little endian:
///
///     0      header, kAlignment bytes: magic, version, key, place and checksum of the table
///     4096   sections, each at a multiple of kAlignment
///     …      table: per section its name, offset, size, checksum (XXH3-64)
///
/// Written once by PackedFileWriter, never changed. Movable; sections keep their address. Any
/// thread.
class PackedFile {
 public:
  static constexpr std::size_t kAlignment = 4096;
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kMaxSections = 65536;
  static constexpr std::size_t kMaxNameBytes = 95;

  /// Maps a file and verifies header, key, table and every section's checksum (about 0.1 s for
  /// 500 MB in the page cache).
  [[nodiscard]] static tl::expected<PackedFile, PackedFileProblem> open(
      const std::filesystem::path& path, const PackedFileKey& key);

  /// Bytes of a section, aligned to kAlignment; nothing when there is no such section.
  [[nodiscard]] std::optional<std::span<const std::byte>> section(std::string_view name) const;
  /// Names in the order of writing.
  [[nodiscard]] std::vector<std::string_view> section_names() const;
  [[nodiscard]] std::size_t size_bytes() const { return mapping_.bytes().size(); }

 private:
  struct Section {
    std::string name;
    std::span<const std::byte> bytes;
  };
  PackedFile(MappedFile mapping, std::vector<Section> sections);

  MappedFile mapping_;
  std::vector<Section> sections_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

/// Writes a packed file front to back into a temporary file in the same folder; commit() makes it
/// appear under its name in one step. Without commit(), also after an error, the temporary file is
/// removed. One thread.
class PackedFileWriter {
 public:
  /// Errors: kIo naming the path: folder missing or read-only.
  [[nodiscard]] static Result<PackedFileWriter> create(const std::filesystem::path& path,
                                                       const PackedFileKey& key);
  PackedFileWriter(PackedFileWriter&& other) noexcept;
  PackedFileWriter& operator=(PackedFileWriter&& other) = delete;
  ~PackedFileWriter();

  /// Starts the next section; what append() writes then belongs to it. Requires: the name is new,
  /// 1 … kMaxNameBytes bytes. Errors: kIo (disk full).
  [[nodiscard]] Result<void> begin_section(std::string_view name);
  /// Appends bytes to the current section. Requires: a section was begun. Errors: kIo (disk full).
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// begin_section and append of all its bytes.
  [[nodiscard]] Result<void> add_section(std::string_view name, std::span<const std::byte> bytes);
  /// Writes table and header, forces all to disk and renames. Errors: kIo.
  [[nodiscard]] Result<void> commit();

 private:
  struct State;
  explicit PackedFileWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Advisory lock beside a packed file (`<path>.lock`), held while it is made, so that of several
/// processes started at once one makes it and the others wait for it. Given back by the destructor,
/// and by the kernel when the process dies.
class PackedFileLock {
 public:
  /// Waits at most `timeout` for another holder. Errors: kIo when the lock file cannot be made or
  /// the time is over; the caller then works without the cache.
  [[nodiscard]] static Result<PackedFileLock> acquire(const std::filesystem::path& path,
                                                      std::chrono::milliseconds timeout);
  PackedFileLock(PackedFileLock&& other) noexcept;
  PackedFileLock& operator=(PackedFileLock&& other) = delete;
  ~PackedFileLock();

 private:
  explicit PackedFileLock(int fd) : fd_(fd) {}
  int fd_;
};

/// How open_or_make_packed_file() came by the file; for the log.
struct PackedFileOutcome {
  PackedFile file;
  bool made = false;   ///< false: it was there
  std::string reason;  ///< why it had to be made; empty when it was there
};

/// Opens a packed file or makes it: takes the lock, looks again, calls `make` to write all
/// sections, commits and maps the result. Two processes at once make it once. Errors: kIo when the
/// cache cannot be used (read-only folder, disk full, lock timeout); whatever `make` returns. The
/// caller then goes on without a cache.
[[nodiscard]] Result<PackedFileOutcome> open_or_make_packed_file(
    const std::filesystem::path& path, const PackedFileKey& key,
    std::chrono::milliseconds lock_timeout,
    FunctionRef<Result<void>(PackedFileWriter& writer)> make);

}  // namespace paceline
