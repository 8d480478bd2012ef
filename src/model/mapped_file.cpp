#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace paceline {
namespace {

/// Closes a descriptor at the end of a scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string_view describe_file_type(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe that nobody writes must not wait.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return fail(ErrorCode::kIo, path.string() + ": cannot open: " + std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return fail(ErrorCode::kIo, path.string() + ": cannot stat: " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kBadFile, path.string() + ": expected a regular file, found " +
                                         std::string(describe_file_type(status.st_mode)));
  }
  if (status.st_size <= 0) return fail(ErrorCode::kBadFile, path.string() + ": the file is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) {
    return fail(ErrorCode::kIo, path.string() + ": cannot map: " + std::strerror(errno));
  }
  const std::int64_t modified_ns =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return MappedFile({static_cast<const std::byte*>(address), size}, modified_ns);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), modified_ns_(other.modified_ns_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(modified_ns_, other.modified_ns_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::advise_will_need() const {
  if (bytes_.empty()) return;
  // Only a hint: a kernel that refuses it still reads the file.
  (void)::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

}  // namespace paceline
