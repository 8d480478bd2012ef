#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace paceline {

/// Read-only memory mapping of a whole regular file. The size is taken once, at open; readers
/// check every offset against it, so a short file is an error and never a fault. A file that
/// another process cuts while it is mapped is outside this promise: replace model files by rename.
/// Movable; the bytes stay at their address. Any thread.
class MappedFile {
 public:
  /// Opens without blocking, whatever the path names. Errors: kIo when it cannot be opened or
  /// mapped; kBadFile when it is not a regular file (folder, pipe, device) or is empty.
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Tells the kernel to start reading the whole file.
  void advise_will_need() const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace paceline
