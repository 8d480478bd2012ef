#pragma once

#include <cstddef>
#include <cstdint>
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
  /// Time of the last modification, nanoseconds since 1970, at open.
  [[nodiscard]] std::int64_t modified_ns() const { return modified_ns_; }
  /// Tells the kernel to start reading the whole file.
  void advise_will_need() const;

 private:
  MappedFile(std::span<const std::byte> bytes, std::int64_t modified_ns)
      : bytes_(bytes), modified_ns_(modified_ns) {}

  std::span<const std::byte> bytes_;
  std::int64_t modified_ns_ = 0;
};

}  // namespace paceline
