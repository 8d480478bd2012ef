#include "base/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"

namespace paceline {
namespace {

/// The lines a logger wrote.
class LoggingTest : public testing::Test {
 protected:
  std::vector<std::string> lines;
  Logger logger{LogLevel::kInfo, [this](std::string_view line) { lines.emplace_back(line); }};
};

TEST_F(LoggingTest, EventIsOneJsonObjectWithTimeLevelAndNameFirst) {
  logger.write(LogRecord(LogLevel::kWarn, "drain").add("running", 2).add("name", "a"));

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(
      lines[0],
      testing::MatchesRegex(
          R"(\{"ts":".{10}T.{12}Z","level":"warn","event":"drain","running":2,"name":"a"\})"));
}

TEST_F(LoggingTest, ValuesCannotBreakOutOfTheirLine) {
  logger.write(LogRecord(LogLevel::kInfo, "error").add("message", "a\"b\\c\nd\x01\xff"));

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::HasSubstr("\"message\":\"a\\\"b\\\\c\\nd\\u0001\xef\xbf\xbd\"}"));
}

TEST_F(LoggingTest, AbsentAndNotFiniteValuesAreNull) {
  logger.write(LogRecord(LogLevel::kInfo, "x")
                   .add("a", std::optional<int>())
                   .add("b", std::numeric_limits<double>::quiet_NaN())
                   .add("c", nullptr)
                   .add("d", std::optional<bool>(true))
                   .add("e", 1.5));

  EXPECT_THAT(lines.at(0), testing::EndsWith(R"("a":null,"b":null,"c":null,"d":true,"e":1.500})"));
}

TEST_F(LoggingTest, EventsBelowTheLevelAreDropped) {
  logger.write(LogLevel::kDebug, "start", "x");

  EXPECT_TRUE(lines.empty());
}

TEST(LogFileTest, LinesAreAppendedToTheFile) {
  const TempFolder folder;
  LogOptions options;
  options.file = (folder.path() / "log").string();
  { Logger(options).write(LogLevel::kInfo, "start", "one"); }
  { Logger(options).write(LogLevel::kInfo, "stop", "two"); }

  std::ifstream file(options.file);
  std::string first;
  std::string second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_THAT(first, testing::HasSubstr("\"message\":\"one\""));
  EXPECT_THAT(second, testing::HasSubstr("\"message\":\"two\""));
}

TEST(LogFileTest, FileThatCannotBeOpenedIsNamed) {
  LogOptions options;
  options.file = "/proc/no/such/folder/log";

  EXPECT_THROW({ Logger logger(options); }, std::runtime_error);
}

}  // namespace
}  // namespace paceline
