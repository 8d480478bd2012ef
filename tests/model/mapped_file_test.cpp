#include "model/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"
#include "tests/support/unprivileged_user.h"

namespace paceline {
namespace {

TEST(MappedFileTest, MapsAllBytes) {
  const TempFolder folder;
  std::ofstream(folder / "file") << "abc";

  const Result<MappedFile> file = MappedFile::open(folder / "file");

  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->bytes().size(), 3U);
  EXPECT_EQ(static_cast<char>(file->bytes()[2]), 'c');
}

struct NotAFile {
  std::string name;
  std::string message;
};

class MappedFileRefusalTest : public testing::TestWithParam<NotAFile> {};

TEST_P(MappedFileRefusalTest, AnswersWithAnErrorAtOnce) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::ofstream(folder / "empty").flush();
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  std::filesystem::create_symlink("/dev/zero", folder / "device");
  const auto start = std::chrono::steady_clock::now();

  const Result<MappedFile> file = MappedFile::open(folder / GetParam().name);

  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find(GetParam().message), std::string::npos)
      << file.error().message;
  EXPECT_NE(file.error().message.find(GetParam().name), std::string::npos) << file.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MappedFileRefusalTest,
    testing::Values(NotAFile{"missing", "No such file"}, NotAFile{"folder", "found a folder"},
                    NotAFile{"pipe", "found a pipe"}, NotAFile{"empty", "the file is empty"},
                    NotAFile{"loop", "symbolic links"}, NotAFile{"device", "found a device"}),
    [](const auto& kind) { return kind.param.name; });

TEST(MappedFileTest, NoPermissionIsAnError) {
  const TempFolder folder;
  std::ofstream(folder / "file") << "abc";
  std::filesystem::permissions(folder / "file", std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  const UnprivilegedUser user;
  if (!UnprivilegedUser::is_active()) GTEST_SKIP() << "needs a user that permissions bind";

  const Result<MappedFile> file = MappedFile::open(folder / "file");

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_NE(file.error().message.find("Permission denied"), std::string::npos);
}

}  // namespace
}  // namespace paceline
