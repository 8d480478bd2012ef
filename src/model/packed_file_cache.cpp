#include "model/packed_file_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace paceline {
namespace {

/// Exclusive advisory lock on a file of its own, which stays: removing it would let two processes
/// lock two files of the same name.
class FileLock {
 public:
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds timeout);

  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

Result<FileLock> FileLock::acquire(const std::string& path, std::chrono::milliseconds timeout) {
  // flock has no form with a deadline, so it is tried again at this interval.
  constexpr std::chrono::milliseconds kRetryInterval{20};
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return fail(ErrorCode::kIo, path + ": cannot create the lock file: " + std::strerror(errno));
  }
  FileLock lock(fd);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorCode::kIo, path + ": cannot lock: " + std::strerror(errno));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(ErrorCode::kIo, path + ": another process has held the lock for " +
                                      std::to_string(timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
  return lock;
}

/// Removes temporary files of writers that died. Requires: the lock is held, so no writer lives.
void remove_leftovers(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const std::string prefix = path.filename().string() + ".tmp-";
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(folder, ignored), end; it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(prefix)) {
      std::error_code not_removed;
      std::filesystem::remove(it->path(), not_removed);
    }
  }
}

Result<void> make_file(const std::filesystem::path& path, const PackedFileKey& key,
                       FunctionRef<Result<void>(PackedFileWriter&)> make) {
  auto writer = PackedFileWriter::create(path, key);
  if (!writer) return tl::unexpected(std::move(writer.error()));
  return make(*writer).and_then([&] { return writer->commit(); });
}

}  // namespace

Result<CachedPackedFile> open_or_make_packed_file(
    const std::filesystem::path& path, const PackedFileKey& key,
    std::chrono::milliseconds lock_timeout,
    FunctionRef<Result<void>(PackedFileWriter& writer)> make) {
  auto file = PackedFile::open(path, key);
  if (file) return CachedPackedFile{std::move(*file), {}};
  if (file.error().kind == PackedFileProblem::Kind::kUnreadable) {
    return fail(ErrorCode::kIo, file.error().message);
  }
  auto lock = FileLock::acquire(path.string() + ".lock", lock_timeout);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  // Another process may have made it while this one waited.
  file = PackedFile::open(path, key);
  if (file) return CachedPackedFile{std::move(*file), {}};
  std::string reason = std::move(file.error().message);
  remove_leftovers(path);
  if (auto made = make_file(path, key, make); !made) {
    return tl::unexpected(std::move(made.error()));
  }
  file = PackedFile::open(path, key);
  if (!file) return fail(ErrorCode::kIo, file.error().message);
  return CachedPackedFile{std::move(*file), std::move(reason)};
}

}  // namespace paceline
