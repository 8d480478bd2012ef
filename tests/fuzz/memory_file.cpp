#include "tests/fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace paceline {

MemoryFile::MemoryFile(const std::uint8_t* data, std::size_t size)
    : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  if (::write(fd_, data, size) != static_cast<ssize_t>(size)) {
    ::close(fd_);
    throw std::system_error(errno, std::generic_category(), "write");
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::filesystem::path MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

}  // namespace paceline
