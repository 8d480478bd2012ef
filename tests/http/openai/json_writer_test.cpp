#include "http/openai/json_writer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "http/openai/json_document.h"

namespace paceline::openai {
namespace {

TEST(JsonWriterTest, PlacesCommas) {
  std::string out;
  JsonWriter json(out);

  json.begin_object().integer("a", -1).null("b");
  json.key("c").begin_array().begin_object().end_object().integer(2).begin_array().end_array();
  json.end_array().boolean("d", true).raw("e", "[1]").number("f", 0.5).string("g", "x");
  json.string_or_null("h", nullptr).escaped_key("i\n").null().end_object();

  EXPECT_EQ(
      out,
      R"({"a":-1,"b":null,"c":[{},2,[]],"d":true,"e":[1],"f":0.5,"g":"x","h":null,"i\n":null})");
}

TEST(JsonWriterTest, StringsAreEscapedAndRepaired) {
  std::string out;
  append_json_string(out, std::string_view("\"\\\n\t\x01\0/é🫠\xE6\xAD", 15));

  EXPECT_EQ(out, "\"\\\"\\\\\\n\\t\\u0001\\u0000/é🫠\xEF\xBF\xBD\"");
}

TEST(JsonWriterTest, NumbersHaveTheirShortestForm) {
  const auto text = [](double value) {
    std::string out;
    append_json_number(out, value);
    return out;
  };

  EXPECT_EQ(text(1), "1");
  EXPECT_EQ(text(-0.31), "-0.31");
  EXPECT_EQ(text(1e-7), "1e-07");
  EXPECT_EQ(text(1790000000), "1790000000");
}

TEST(JsonWriterTest, AnyBytesBecomeStrictJsonThatReadsBack) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> byte(0, 255);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (int i = 0; i < round * 4; ++i) bytes += static_cast<char>(byte(random));
    std::string out;
    append_json_string(out, bytes);

    const auto document = JsonDocument::parse(out);

    ASSERT_TRUE(document) << "round " << round << ", seed 3";
    EXPECT_EQ(document->root().text(), to_lossy_utf8(bytes)) << "round " << round << ", seed 3";
  }
}

}  // namespace
}  // namespace paceline::openai
