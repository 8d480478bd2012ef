#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace paceline {

/// Regular file that lives in memory, for readers that open a path. Gone at the end of the scope.
class MemoryFile {
 public:
  /// Throws std::system_error when the kernel gives no file.
  MemoryFile(const std::uint8_t* data, std::size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::filesystem::path path() const;

 private:
  int fd_;
};

}  // namespace paceline
