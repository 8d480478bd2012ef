#include "model/packed_file_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/packed_file_format.h"

namespace paceline {
namespace {

using packed_file_format::Header;
using packed_file_format::TableEntry;

struct FreeHashState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// Name beside `path` that no other writer uses.
std::string temporary_path(const std::filesystem::path& path) {
  return path.string() + ".tmp-" + std::to_string(std::random_device()());
}

}  // namespace

/// The open temporary file, the section being written and the table so far.
class PackedFileWriter::State {
 public:
  State(std::filesystem::path path, std::string temporary, int fd, const PackedFileKey& key)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(fd),
        key_(key),
        hash_(XXH3_createState()) {
    CHECK(hash_ != nullptr);
    buffer_.reserve(kBufferBytes);
  }
  ~State() {
    ::close(fd_);
    if (!is_committed_) ::unlink(temporary_.c_str());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> begin_section(std::string_view name);
  Result<void> append(std::span<const std::byte> bytes);
  Result<void> commit();
  /// Writes zeros up to the next multiple of the alignment.
  Result<void> pad();

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

  [[nodiscard]] tl::unexpected<Error> io_error(const std::string& what) const {
    const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return fail(is_full ? ErrorCode::kDiskFull : ErrorCode::kIo,
                path_.string() + ": " + what + ": " + std::strerror(errno));
  }
  void end_section();
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write_through(std::span<const std::byte> bytes);
  Result<void> flush();
  Result<void> write_header(const Header& header);
  Result<void> rename_into_place();

  std::filesystem::path path_;
  std::string temporary_;
  int fd_;
  PackedFileKey key_;
  std::unique_ptr<XXH3_state_t, FreeHashState> hash_;  ///< of the current section
  std::vector<std::byte> buffer_;
  std::uint64_t position_ = 0;  ///< of the next byte in the file, buffered ones included
  std::vector<TableEntry> table_;
  bool in_section_ = false;
  bool is_committed_ = false;
};

Result<void> PackedFileWriter::State::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("cannot write the packed file");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> PackedFileWriter::State::flush() {
  auto written = write_through(buffer_);
  buffer_.clear();
  return written;
}

Result<void> PackedFileWriter::State::write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    if (auto flushed = flush(); !flushed) return flushed;
  }
  if (bytes.size() >= kBufferBytes) return write_through(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> PackedFileWriter::State::pad() {
  static constexpr std::byte kZeros[PackedFile::kAlignment] = {};
  const std::uint64_t rest = position_ % PackedFile::kAlignment;
  if (rest == 0 && position_ > 0) return {};
  return write({kZeros, static_cast<std::size_t>(PackedFile::kAlignment - rest)});
}

void PackedFileWriter::State::end_section() {
  if (!in_section_) return;
  TableEntry& entry = table_.back();
  entry.size = position_ - entry.offset;
  entry.hash = XXH3_64bits_digest(hash_.get());
  in_section_ = false;
}

Result<void> PackedFileWriter::State::begin_section(std::string_view name) {
  DCHECK(!name.empty() && name.size() <= kMaxNameBytes);
  CHECK(table_.size() < packed_file_format::kMaxSections);
  end_section();
  if (auto padded = pad(); !padded) return padded;
  TableEntry entry{};
  std::ranges::copy(name, entry.name.begin());
  entry.offset = position_;
  table_.push_back(entry);
  XXH3_64bits_reset(hash_.get());
  in_section_ = true;
  return {};
}

Result<void> PackedFileWriter::State::append(std::span<const std::byte> bytes) {
  DCHECK(in_section_);
  XXH3_64bits_update(hash_.get(), bytes.data(), bytes.size());
  return write(bytes);
}

Result<void> PackedFileWriter::State::write_header(const Header& header) {
  ssize_t written = 0;
  do {
    written = ::pwrite(fd_, &header, sizeof header, 0);
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(sizeof header)) {
    return io_error("cannot write the packed file's header");
  }
  return {};
}

Result<void> PackedFileWriter::State::rename_into_place() {
  if (::fsync(fd_) != 0) return io_error("cannot flush the packed file to disk");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return io_error("cannot rename the packed file into place");
  }
  is_committed_ = true;
  // The file is whole whether or not the folder's entry is on disk yet: after a power failure it is
  // there or it is made again, so an error here changes nothing.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int folder_fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    (void)::fsync(folder_fd);
    ::close(folder_fd);
  }
  return {};
}

Result<void> PackedFileWriter::State::commit() {
  end_section();
  if (auto padded = pad(); !padded) return padded;
  const auto table = std::as_bytes(std::span(table_));
  Header header{};
  header.magic = packed_file_format::kMagic;
  header.version = packed_file_format::kVersion;
  header.num_sections = static_cast<std::uint32_t>(table_.size());
  header.key = key_.bytes;
  header.table_offset = position_;
  header.file_size = position_ + table.size();
  header.table_hash = XXH3_64bits(table.data(), table.size());
  header.header_hash = XXH3_64bits(&header, offsetof(Header, header_hash));
  return write(table)
      .and_then([&] { return flush(); })
      .and_then([&] { return write_header(header); })
      .and_then([&] { return rename_into_place(); });
}

PackedFileWriter::PackedFileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackedFileWriter::PackedFileWriter(PackedFileWriter&&) noexcept = default;
PackedFileWriter::~PackedFileWriter() = default;

Result<PackedFileWriter> PackedFileWriter::create(const std::filesystem::path& path,
                                                  const PackedFileKey& key) {
  std::string temporary = temporary_path(path);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return fail(ErrorCode::kIo,
                temporary + ": cannot create the packed file: " + std::strerror(errno));
  }
  PackedFileWriter writer(std::make_unique<State>(path, std::move(temporary), fd, key));
  // Room for the header, which is written last.
  if (auto padded = writer.state_->pad(); !padded) {
    return tl::unexpected(std::move(padded.error()));
  }
  return writer;
}

Result<void> PackedFileWriter::begin_section(std::string_view name) {
  return state_->begin_section(name);
}

Result<void> PackedFileWriter::append(std::span<const std::byte> bytes) {
  return state_->append(bytes);
}

Result<void> PackedFileWriter::add_section(std::string_view name,
                                           std::span<const std::byte> bytes) {
  return begin_section(name).and_then([&] { return append(bytes); });
}

Result<void> PackedFileWriter::commit() { return state_->commit(); }

}  // namespace paceline
