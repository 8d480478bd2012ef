#include "app/cli.h"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

Command parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "paceline");
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CliTest, FlagsOfServeBecomeSettings) {
  const Command command =
      parse({"serve", "--model", "m.gguf", "--port", "9000", "--threads", "2", "--weights", "f32"});

  ASSERT_TRUE(std::holds_alternative<ServeCommand>(command));
  EXPECT_THAT(std::get<ServeCommand>(command).sources.settings,
              UnorderedElementsAre(Pair("model.path", "m.gguf"), Pair("http.port", "9000"),
                                   Pair("compute.threads", "2"), Pair("model.weights", "f32")));
}

TEST(CliTest, NamedFlagsComeAfterSetSoThatTheyWin) {
  const Command command =
      parse({"serve", "--port", "1", "--set", "http.port=2", "--set", "log.file=a=b"});

  ASSERT_TRUE(std::holds_alternative<ServeCommand>(command));
  EXPECT_THAT(std::get<ServeCommand>(command).sources.settings,
              ElementsAre(Pair("http.port", "2"), Pair("log.file", "a=b"), Pair("http.port", "1")));
}

TEST(CliTest, ConfigFileIsPassedOn) {
  const Command command = parse({"check-config", "--config", "x.toml", "--keys"});

  ASSERT_TRUE(std::holds_alternative<CheckConfigCommand>(command));
  EXPECT_EQ(std::get<CheckConfigCommand>(command).sources.file, "x.toml");
  EXPECT_TRUE(std::get<CheckConfigCommand>(command).print_keys);
}

TEST(CliTest, WrongUseEndsWithStatusTwo) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{},
                                             {"dance"},
                                             {"serve", "--prot", "1"},
                                             {"serve", "--set", "novalue"},
                                             {"serve", "--set", "=x"}}) {
    const Command command = parse(arguments);

    ASSERT_TRUE(std::holds_alternative<ExitCommand>(command));
    EXPECT_EQ(std::get<ExitCommand>(command).status, 2);
  }
}

TEST(CliTest, HelpAndVersionEndWithStatusZero) {
  for (const char* flag : {"--help", "--version"}) {
    const Command command = parse({flag});

    ASSERT_TRUE(std::holds_alternative<ExitCommand>(command)) << flag;
    EXPECT_EQ(std::get<ExitCommand>(command).status, 0) << flag;
  }
}

}  // namespace
}  // namespace paceline
