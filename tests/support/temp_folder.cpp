#include "tests/support/temp_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace paceline {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "paceline-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp");
  }
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace paceline
