#include "config/config_loader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "config/config_key.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ConfigLoaderTest : public testing::Test {
 protected:
  ConfigLoaderTest() { std::filesystem::create_directories(folder_); }
  ~ConfigLoaderTest() override { std::filesystem::remove_all(folder_); }

  ConfigSources with_file(std::string_view text) {
    std::ofstream(path_) << text;
    ConfigSources sources;
    sources.file = path_;
    return sources;
  }

  static std::vector<std::string> errors_of(const ConfigSources& sources) {
    auto loaded = load_config(sources);
    return loaded ? std::vector<std::string>{} : loaded.error();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("paceline_config_" + std::to_string(::getpid()));
  const std::string path_ = (folder_ / "paceline.toml").string();
};

TEST_F(ConfigLoaderTest, WithoutSourcesEveryKeyHasItsDefault) {
  const auto loaded = load_config({});

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.http.host, "127.0.0.1");
  EXPECT_EQ(loaded->config.http.port, 8000);
  EXPECT_EQ(loaded->config.model.weights, "int8");
}

TEST_F(ConfigLoaderTest, SettingsBeatEnvironmentBeatsFile) {
  ConfigSources sources = with_file("[http]\nport = 1\nmax_headers = 11\nmax_connections = 21\n");
  sources.environment = {{"PACELINE_HTTP_PORT", "2"}, {"PACELINE_HTTP_MAX_HEADERS", "12"}};
  sources.settings = {{"http.port", "3"}};

  const auto loaded = load_config(sources);

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.http.port, 3);
  EXPECT_EQ(loaded->config.http.max_headers, 12U);
  EXPECT_EQ(loaded->config.http.max_connections, 21U);
}

TEST_F(ConfigLoaderTest, EveryTypeOfValueIsReadFromTheFile) {
  const auto loaded =
      load_config(with_file("[model]\naliases = [\"a\", \"b\"]\n[cache]\nenabled = "
                            "false\n[scheduler]\ntarget_step_ms = 12.5\n"
                            "[http]\nheader_timeout_ms = 250\n[log]\nlevel = \"warn\"\n"));

  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->config.model.aliases, ElementsAre("a", "b"));
  EXPECT_FALSE(loaded->config.scheduler.prefix_cache);
  EXPECT_DOUBLE_EQ(loaded->config.scheduler.target_step_ms, 12.5);
  EXPECT_EQ(loaded->config.http.header_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(loaded->config.log.level, LogLevel::kWarn);
}

TEST_F(ConfigLoaderTest, AllErrorsAreReportedAtOnceWithFileLineAndKey) {
  const auto errors = errors_of(with_file(
      "[http]\nport = \"x\"\nprot = 1\n[kv]\nblock_size = 24\n[model]\nweights = \"int3\"\n"));

  EXPECT_THAT(
      errors,
      testing::UnorderedElementsAre(
          AllOf(HasSubstr(path_ + ":2"), HasSubstr("http.port"), HasSubstr("integer")),
          AllOf(HasSubstr(path_ + ":3"), HasSubstr("unknown key `http.prot`")),
          AllOf(HasSubstr("kv.block_size"), HasSubstr("24")),
          AllOf(HasSubstr(path_ + ":7"), HasSubstr("model.weights"), HasSubstr("int8, f32"))));
}

TEST_F(ConfigLoaderTest, ValuesOutOfBoundsNameTheBounds) {
  ConfigSources sources;
  sources.settings = {
      {"http.port", "65536"}, {"scheduler.max_running", "0"}, {"sampling.top_p", "1.5"}};

  EXPECT_THAT(errors_of(sources),
              ElementsAre(AllOf(HasSubstr("http.port"), HasSubstr("0 … 65535")),
                          AllOf(HasSubstr("scheduler.max_running"), HasSubstr("got 0")),
                          AllOf(HasSubstr("sampling.top_p"), HasSubstr("got 1.5"))));
}

TEST_F(ConfigLoaderTest, TextThatIsNoNumberIsRefused) {
  for (const char* text : {"", "1x", "0x10", " 1", "1.5", "1e3"}) {
    ConfigSources sources;
    sources.settings = {{"http.port", text}};

    EXPECT_THAT(errors_of(sources), ElementsAre(HasSubstr("expected an integer"))) << text;
  }
}

TEST_F(ConfigLoaderTest, UnknownFlagIsAnError) {
  ConfigSources sources;
  sources.settings = {{"http.prot", "1"}};

  EXPECT_THAT(errors_of(sources), ElementsAre(HasSubstr("unknown key `http.prot`")));
}

TEST_F(ConfigLoaderTest, UnknownVariableIsAWarning) {
  ConfigSources sources;
  sources.environment = {{"PACELINE_HTTP_PROT", "1"}, {"PACELINE_TEST_MODEL", "x"}};

  const auto loaded = load_config(sources);

  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->warnings, ElementsAre(HasSubstr("PACELINE_HTTP_PROT")));
}

TEST_F(ConfigLoaderTest, ShortVariableNamesWork) {
  ConfigSources sources;
  sources.environment = {{"PACELINE_MODEL", "m.gguf"}, {"PACELINE_ISA", "scalar"}};

  const auto loaded = load_config(sources);

  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.model.path, "m.gguf");
  EXPECT_EQ(loaded->config.model.isa, "scalar");
}

TEST_F(ConfigLoaderTest, BrokenTomlNamesTheLine) {
  EXPECT_THAT(errors_of(with_file("[http]\nport = \n")), ElementsAre(HasSubstr(path_ + ":2")));
}

TEST_F(ConfigLoaderTest, MissingFileIsOneError) {
  ConfigSources sources;
  sources.file = (folder_ / "none.toml").string();

  EXPECT_THAT(errors_of(sources), ElementsAre(HasSubstr("none.toml")));
}

TEST(ConfigKeysTest, EveryDefaultIsWithinItsOwnBounds) {
  const Config defaults;
  for (const ConfigKey& key : config_keys()) {
    Config config;
    const auto stored = key.set(config, key.get(defaults));

    EXPECT_TRUE(stored) << key.name << ": " << stored.error().message;
    EXPECT_EQ(key.get(config), key.get(defaults)) << key.name;
  }
}

TEST(ConfigKeysTest, NamesAndVariablesAreUnique) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    names.push_back(key.name);
    names.push_back(environment_name(key.name));
  }
  std::ranges::sort(names);

  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(ConfigValueTest, TextAndTomlAgree) {
  EXPECT_EQ(to_toml(*parse_config_value(ConfigType::kNumber, "2")), "2.0");
  EXPECT_EQ(to_toml(*parse_config_value(ConfigType::kStringList, "a,b")), "[\"a\", \"b\"]");
  EXPECT_EQ(to_toml(*parse_config_value(ConfigType::kStringList, "")), "[]");
  EXPECT_EQ(to_toml(*parse_config_value(ConfigType::kString, "a\"b")), "\"a\\\"b\"");
  EXPECT_FALSE(parse_config_value(ConfigType::kBool, "yes"));
}

}  // namespace
}  // namespace paceline
