#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "config/config_loader.h"
#include "config/key_table.h"

namespace paceline {
namespace {

const std::string kFolder = std::string(PACELINE_SOURCE_DIR) + "/config/";

TEST(ConfigReadmeTest, TableOfKeysIsTheProgramsOwn) {
  std::stringstream readme;
  readme << std::ifstream(kFolder + "README.md").rdbuf();

  EXPECT_NE(readme.str().find(config_key_table()), std::string::npos)
      << "config/README.md must hold what `paceline check-config --keys` prints:\n"
      << config_key_table();
}

TEST(ConfigReadmeTest, ExampleFileLoadsWithoutAWord) {
  ConfigSources sources;
  sources.file = kFolder + "paceline.toml";

  const auto loaded = load_config(sources);

  ASSERT_TRUE(loaded) << loaded.error().front();
  EXPECT_TRUE(loaded->warnings.empty());
}

}  // namespace
}  // namespace paceline
