#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "model/packed_file.h"

namespace paceline {

/// Writes a packed file front to back into a temporary file in the same folder; commit() makes it
/// appear under its name in one step. Without commit(), also after an error, the temporary file is
/// removed. Memory is one buffer, whatever the size of the file. One thread.
class PackedFileWriter {
 public:
  /// Longest name of a section, bytes.
  static constexpr std::size_t kMaxNameBytes = 95;

  /// Errors: kIo naming the path: folder missing or read-only.
  [[nodiscard]] static Result<PackedFileWriter> create(const std::filesystem::path& path,
                                                       const PackedFileKey& key);
  PackedFileWriter(PackedFileWriter&&) noexcept;
  PackedFileWriter& operator=(PackedFileWriter&&) = delete;
  ~PackedFileWriter();

  /// Starts the next section; what append() writes then belongs to it. Requires: the name is new,
  /// 1 … kMaxNameBytes bytes. Errors: kDiskFull, kIo.
  [[nodiscard]] Result<void> begin_section(std::string_view name);
  /// Appends bytes to the current section. Requires: a section was begun. Errors: kDiskFull,
  /// kIo.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  /// begin_section and append of all its bytes.
  [[nodiscard]] Result<void> add_section(std::string_view name, std::span<const std::byte> bytes);
  /// Writes table and header, forces all to disk and renames. The last call. Errors: kDiskFull,
  /// kIo.
  [[nodiscard]] Result<void> commit();

 private:
  class State;
  explicit PackedFileWriter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace paceline
