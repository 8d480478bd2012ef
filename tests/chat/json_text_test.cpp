#include "chat/json_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace paceline {
namespace {

TEST(JsonTextTest, WritesDocumentsAsPythonDoes) {
  constexpr std::string_view kCases[][2] = {
      {R"({"city":"Paris"})", R"({"city": "Paris"})"},
      {" { \"a\" :\n[ 1,2 , {} ,[] ] } ", R"({"a": [1, 2, {}, []]})"},
      {"true", "true"},
      {R"([null,false,"x"])", R"([null, false, "x"])"},
      {R"({"a":1,"a":2})", R"({"a": 1, "a": 2})"},
      {R"("\u00e9\u4f60\ud83d\ude00\/")", "\"é你😀/\""},
      {R"("\u0000\u001f\u007f\n\t\"\\")", "\"\\u0000\\u001f\x7F\\n\\t\\\"\\\\\""},
      {"\"é,: {}[]\"", "\"é,: {}[]\""},
      {"-0", "0"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"[1.0,1.50,-0.0,1e5,1E+2,0.1e1]", "[1.0, 1.5, -0.0, 100000.0, 100.0, 1.0]"},
      {"[1e15,1e16,123456789012345680000.0]",
       "[1000000000000000.0, 1e+16, 1.2345678901234568e+20]"},
      {"[0.0001,0.00001,1.5e-7,5e-324]", "[0.0001, 1e-05, 1.5e-07, 5e-324]"},
      {"1e999", "1e999"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(to_python_json(text), expected) << text;
}

TEST(JsonTextTest, TextThatIsNotOneJsonValueIsRefused) {
  constexpr std::string_view kCases[] = {
      "",          " ",           "{",
      "[",         "]",           "}",
      "[1,]",      "{\"a\":1,}",  "[,1]",
      "{a:1}",     "{\"a\"}",     "{\"a\" 1}",
      "[1 2]",     "1 2",         "{}{}",
      "[1}",       "{1:2}",       "\"",
      "\"\\",      "\"\\x\"",     "\"\n\"",
      "\"\\u12\"", "nul",         "NaN",
      "01",        "-",           "1.",
      ".5",        "1e",          "+1",
      "'a'",       "\"\\ud800\"", "1e+",
      "truefalse", "\"\\udc00\"", "[\"a\":1]",
      "{\"a\":}",  "\"\\u-123\"", "\"\\ud800\\u0041\"",
  };
  for (const std::string_view text : kCases) EXPECT_EQ(to_python_json(text), std::nullopt) << text;
}

TEST(JsonTextTest, DepthIsNoDanger) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');

  EXPECT_EQ(to_python_json(deep), deep);
  EXPECT_EQ(to_python_json(deep.substr(1)), std::nullopt);
}

TEST(JsonTextTest, RewritingTwiceChangesNothing) {
  constexpr unsigned kSeed = 29;
  std::mt19937 random(kSeed);
  constexpr std::string_view kParts[] = {"{",    "}",  "[",    "]", ",",           ":",    "\"a\"",
                                         "1.50", "-0", "true", " ", "\"\\u00e9\"", "1e30", "\"\\"};
  int num_valid = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (std::size_t i = 1 + random() % 7; i > 0; --i) text += kParts[random() % std::size(kParts)];

    const auto once = to_python_json(text);

    if (!once) continue;
    ++num_valid;
    ASSERT_EQ(to_python_json(*once), once) << text << ", seed " << kSeed;
  }
  EXPECT_GT(num_valid, 1000);
}

TEST(JsonTextTest, StringsAreEscapedAsPythonDoes) {
  EXPECT_EQ(to_json_string("a\"b\\c\n\x01é"), R"("a\"b\\c\n\u0001é")");
}

}  // namespace
}  // namespace paceline
