#include "model/packed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "model/packed_file_cache.h"
#include "model/packed_file_writer.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unprivileged_user.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using Kind = PackedFileProblem::Kind;

constexpr std::chrono::milliseconds kLockTimeout{60000};

const PackedFileKey kKey = make_packed_file_key("model", "int8");

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The sections of all files here: small, empty and larger than the writer's buffer.
const std::string kSmall = "some bytes";
const std::string& large() {
  static const std::string text = [] {
    std::string bytes;
    for (std::uint32_t i = 0; bytes.size() < (std::size_t{3} << 20); ++i) {
      bytes += GgufWriter::raw_bytes(i * 2654435761U);
    }
    return bytes;
  }();
  return text;
}

const auto write_sections = [](PackedFileWriter& writer) -> Result<void> {
  return writer.add_section("small", bytes_of(kSmall))
      .and_then([&] { return writer.add_section("empty", {}); })
      .and_then([&] { return writer.begin_section("large"); })
      .and_then([&] { return writer.append(bytes_of(large()).first(1000)); })
      .and_then([&] { return writer.append(bytes_of(large()).subspan(1000)); });
};

void make_file(const std::filesystem::path& path) {
  auto writer = PackedFileWriter::create(path, kKey);
  ASSERT_TRUE(writer) << writer.error().message;
  const auto written = write_sections(*writer).and_then([&] { return writer->commit(); });
  ASSERT_TRUE(written) << written.error().message;
}

std::size_t num_files(const TempFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(PackedFileTest, SectionsComeBackAligned) {
  const TempFolder folder;
  make_file(folder / "cache");

  const auto file = PackedFile::open(folder / "cache", kKey);

  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->num_sections(), 3U);
  EXPECT_EQ(text_of(file->section("small").value()), kSmall);
  EXPECT_EQ(text_of(file->section("empty").value()), "");
  EXPECT_EQ(text_of(file->section("large").value()), large());
  EXPECT_FALSE(file->section("absent"));
  for (const char* name : {"small", "large"}) {
    const auto address = reinterpret_cast<std::uintptr_t>(file->section(name)->data());
    EXPECT_EQ(address % PackedFile::kAlignment, 0U) << name;
  }
}

TEST(PackedFileTest, SectionsStayWhenTheFileIsReplaced) {
  const TempFolder folder;
  make_file(folder / "cache");
  const auto file = PackedFile::open(folder / "cache", kKey);
  ASSERT_TRUE(file) << file.error().message;

  make_file(folder / "cache");
  std::filesystem::remove(folder / "cache");

  EXPECT_EQ(text_of(file->section("large").value()), large());
}

TEST(PackedFileTest, OtherKeysAndVersionsAreStale) {
  const TempFolder folder;
  make_file(folder / "cache");

  for (const PackedFileKey& key :
       {make_packed_file_key("model", "int4"), make_packed_file_key("other", "int8"),
        make_packed_file_key("mode", "lint8")}) {
    const auto file = PackedFile::open(folder / "cache", key);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, Kind::kStale);
  }

  std::string bytes = read_file(folder / "cache");
  bytes[8] = 99;  // the version
  write_file(folder / "cache", bytes);
  const auto file = PackedFile::open(folder / "cache", kKey);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, Kind::kStale);
  EXPECT_THAT(file.error().message, HasSubstr("version 99"));
}

TEST(PackedFileTest, EveryFlippedByteIsFound) {
  const TempFolder folder;
  make_file(folder / "cache");
  const std::string good = read_file(folder / "cache");
  const std::size_t table = good.size() - 3 * 120;
  // Header fields, sections (small at 4096, large at 8192) and the table.
  for (const std::size_t offset :
       {std::size_t{0}, std::size_t{12}, std::size_t{16}, std::size_t{32}, std::size_t{40},
        std::size_t{48}, std::size_t{56}, std::size_t{4096}, std::size_t{8192},
        std::size_t{1000000}, table, table + 96, table + 104, table + 112}) {
    std::string bytes = good;
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
    write_file(folder / "cache", bytes);

    const auto file = PackedFile::open(folder / "cache", kKey);

    ASSERT_FALSE(file) << offset;
    EXPECT_EQ(file.error().kind, Kind::kDamaged) << offset << ": " << file.error().message;
  }
}

TEST(PackedFileTest, TruncatedFilesAreDamaged) {
  const TempFolder folder;
  make_file(folder / "cache");
  const std::string good = read_file(folder / "cache");
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                                 std::size_t{5000}, good.size() - 1}) {
    write_file(folder / "cache", good.substr(0, size));

    const auto file = PackedFile::open(folder / "cache", kKey);

    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().kind, Kind::kDamaged) << size << ": " << file.error().message;
  }
}

TEST(PackedFileTest, MissingAndUnreadableAreToldApart) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);

  const auto missing = PackedFile::open(folder / "absent", kKey);
  const auto pipe = PackedFile::open(folder / "pipe", kKey);
  const auto directory = PackedFile::open(folder.path(), kKey);

  EXPECT_EQ(missing.error().kind, Kind::kMissing);
  EXPECT_EQ(pipe.error().kind, Kind::kUnreadable);
  EXPECT_EQ(directory.error().kind, Kind::kUnreadable);
}

TEST(PackedFileWriterTest, NothingAppearsWithoutCommit) {
  const TempFolder folder;
  {
    auto writer = PackedFileWriter::create(folder / "cache", kKey);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(write_sections(*writer));
    EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
  }

  EXPECT_EQ(num_files(folder), 0U);
}

TEST(PackedFileWriterTest, MissingFolderIsAnError) {
  const TempFolder folder;

  const auto writer = PackedFileWriter::create(folder / "absent/cache", kKey);

  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kIo);
}

/// Lowers the largest file size of the process, so that writing fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit = old_limit_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    (void)std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(PackedFileCacheTest, FailedWriteLeavesNothingButTheLock) {
  const TempFolder folder;
  const FileSizeLimit limit(std::size_t{1} << 20);

  const auto cached =
      open_or_make_packed_file(folder / "cache", kKey, kLockTimeout, write_sections);

  ASSERT_FALSE(cached);
  EXPECT_EQ(cached.error().code, ErrorCode::kDiskFull);
  EXPECT_THAT(cached.error().message, HasSubstr("cannot write the packed file: File too large"));
  EXPECT_EQ(num_files(folder), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder / "cache.lock"));
}

TEST(PackedFileCacheTest, IsMadeOnceAndThenOpened) {
  const TempFolder folder;

  const auto first = open_or_make_packed_file(folder / "cache", kKey, kLockTimeout, write_sections);
  const auto second = open_or_make_packed_file(
      folder / "cache", kKey, kLockTimeout,
      [](PackedFileWriter&) { return fail(ErrorCode::kInternalError, "made twice"); });

  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first->made_because, HasSubstr("there is no packed file yet"));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->made_because, "");
  EXPECT_EQ(text_of(second->file.section("small").value()), kSmall);
}

TEST(PackedFileCacheTest, DamagedAndStaleFilesAreRemade) {
  const TempFolder folder;
  write_file(folder / "cache", "not a packed file");

  const auto remade =
      open_or_make_packed_file(folder / "cache", kKey, kLockTimeout, write_sections);
  const auto other_key = open_or_make_packed_file(
      folder / "cache", make_packed_file_key("model", "int4"), kLockTimeout, write_sections);

  ASSERT_TRUE(remade) << remade.error().message;
  EXPECT_THAT(remade->made_because, HasSubstr("cut short"));
  ASSERT_TRUE(other_key) << other_key.error().message;
  EXPECT_THAT(other_key->made_because, HasSubstr("packed from another model file"));
}

TEST(PackedFileCacheTest, LeftoversOfDeadWritersAreRemoved) {
  const TempFolder folder;
  write_file(folder / "cache.tmp-123", "half a file");

  ASSERT_TRUE(open_or_make_packed_file(folder / "cache", kKey, kLockTimeout, write_sections));

  EXPECT_EQ(num_files(folder), 2U);  // the file and its lock
}

TEST(PackedFileCacheTest, ErrorOfTheMakerIsPassedOn) {
  const TempFolder folder;

  const auto cached = open_or_make_packed_file(
      folder / "cache", kKey, kLockTimeout,
      [](PackedFileWriter&) { return fail(ErrorCode::kBadFile, "tensor is bad"); });

  ASSERT_FALSE(cached);
  EXPECT_EQ(cached.error().message, "tensor is bad");
}

TEST(PackedFileCacheTest, OfManyAtOnceOneMakesIt) {
  const TempFolder folder;
  std::atomic<int> num_made{0};
  std::atomic<int> num_right{0};
  std::vector<std::thread> starters;
  for (int i = 0; i < 4; ++i) {
    starters.emplace_back([&] {
      const auto cached = open_or_make_packed_file(folder / "cache", kKey, kLockTimeout,
                                                   [&](PackedFileWriter& writer) {
                                                     ++num_made;
                                                     return write_sections(writer);
                                                   });
      if (cached && text_of(cached->file.section("large").value()) == large()) ++num_right;
    });
  }
  for (std::thread& starter : starters) starter.join();

  EXPECT_EQ(num_made.load(), 1);
  EXPECT_EQ(num_right.load(), 4);
}

TEST(PackedFileCacheTest, HeldLockEndsTheWaitInAnError) {
  const TempFolder folder;

  const auto outer = open_or_make_packed_file(
      folder / "cache", kKey, kLockTimeout, [&](PackedFileWriter& writer) -> Result<void> {
        const auto inner = open_or_make_packed_file(folder / "cache", kKey,
                                                    std::chrono::milliseconds(50), write_sections);
        EXPECT_FALSE(inner);
        EXPECT_THAT(inner.error().message, HasSubstr("another process has held the lock"));
        return write_sections(writer);
      });

  EXPECT_TRUE(outer) << outer.error().message;
}

TEST(PackedFileCacheTest, ReadOnlyFolderIsAnErrorUnlessTheFileIsThere) {
  const TempFolder folder;
  make_file(folder / "cache");
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0555});
  const UnprivilegedUser user;
  if (!UnprivilegedUser::is_active()) GTEST_SKIP() << "needs a user that permissions bind";

  const auto opened =
      open_or_make_packed_file(folder / "cache", kKey, kLockTimeout, write_sections);
  const auto refused =
      open_or_make_packed_file(folder / "other", kKey, kLockTimeout, write_sections);

  EXPECT_TRUE(opened) << opened.error().message;
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_THAT(refused.error().message, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace paceline
