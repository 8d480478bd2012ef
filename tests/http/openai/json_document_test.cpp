#include "http/openai/json_document.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace paceline::openai {
namespace {

std::string compact(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  return document ? document->root().to_compact() : document.error().message;
}

std::string nested_arrays(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(JsonDocumentTest, ReadsEveryKindOfValue) {
  const auto document = JsonDocument::parse_object(
      R"( {"s":"a\n\u00e9\ud83e\udee0","i":-12,"d":1.5e3,"t":true,"f":false,"n":null,"a":[1,"x",{}],"o":{"k":[]}} )");
  ASSERT_TRUE(document) << document.error().message;
  const JsonValue root = document->root();

  EXPECT_EQ(root.size(), 8U);
  EXPECT_EQ(root.find("s")->text(), "a\né🫠");
  EXPECT_EQ(root.find("i")->to_int64(), -12);
  EXPECT_EQ(root.find("d")->to_double(), 1500.0);
  EXPECT_EQ(root.find("d")->text(), "1.5e3");
  EXPECT_EQ(root.find("t")->kind(), JsonKind::kTrue);
  EXPECT_EQ(root.find("f")->kind(), JsonKind::kFalse);
  EXPECT_TRUE(root.find("n")->is_null());
  EXPECT_EQ(root.find("a")->size(), 3U);
  EXPECT_TRUE(root.find("o")->find("k")->is_array());
  EXPECT_FALSE(root.find("missing"));
}

TEST(JsonDocumentTest, IteratesInTheOrderOfTheText) {
  const auto document = JsonDocument::parse(R"([[1,[2,3]],{"b":{"x":1},"a":2},"end"])");
  ASSERT_TRUE(document);

  std::vector<JsonKind> kinds;
  for (const JsonValue element : document->root().elements()) kinds.push_back(element.kind());
  std::string keys;
  for (const auto& [key, value] : (*++document->root().elements().begin()).members()) keys += key;

  EXPECT_EQ(kinds, (std::vector{JsonKind::kArray, JsonKind::kObject, JsonKind::kString}));
  EXPECT_EQ(keys, "ba");
}

TEST(JsonDocumentTest, CompactFormKeepsOrderAndSpellingOfNumbers) {
  EXPECT_EQ(compact(R"( { "b" : [ 1.50 , -0, 1E+2 ] , "a" : { } , "c" : "\u000a\/" } )"),
            R"({"b":[1.50,-0,1E+2],"a":{},"c":"\n/"})");
  EXPECT_EQ(compact(" \"x\" "), "\"x\"");
  EXPECT_EQ(compact("12"), "12");
  EXPECT_EQ(compact("[]"), "[]");
}

TEST(JsonDocumentTest, RefusesBodiesThatAreNotAnObject) {
  for (const char* text : {"",
                           " \n",
                           "[]",
                           "null",
                           "\"x\"",
                           "1",
                           "true",
                           "{",
                           "}",
                           "{}}",
                           "{} x",
                           "{}{}",
                           R"({"a":1,})",
                           R"({'a':1})",
                           R"({"a":1}//c)",
                           R"({/**/"a":1})",
                           R"({"a":NaN})",
                           R"({"a":-Infinity})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":+1})",
                           R"({"a":1e})",
                           R"({"a":-})",
                           R"({"a":1 2})",
                           R"({"a":truex})",
                           R"({"a":nul})",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\n\"}",
                           R"({"a")",
                           R"({"a":})",
                           R"({"a":1)",
                           R"({,})",
                           R"({"a":[1,]})",
                           R"({"a":[1 2]})",
                           R"({"a":[1})",
                           R"({"a":[})",
                           R"({1:2})",
                           R"({"a" 1})",
                           R"({"a":"\x"})",
                           R"({"a":"\u12g4"})",
                           R"({"a":"b"c})",
                           R"({"a":"b)",
                           "\xEF\xBB\xBF{}"}) {
    const auto document = JsonDocument::parse_object(text);
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, ErrorCode::kInvalidJson) << text;
  }
}

TEST(JsonDocumentTest, RefusesMoreThanOneOutermostValue) {
  for (const char* text : {"", "1,2", "1 2", "1],[2", "]", "{}]"}) {
    EXPECT_FALSE(JsonDocument::parse(text)) << text;
  }
}

TEST(JsonDocumentTest, RefusesTextThatIsNotUtf8) {
  for (const char* text : {"{\"a\":\"\xE6\xAD\"}", "{\"\xFF\":1}", "{\"a\":\"\xED\xA0\x80\"}",
                           "{\"a\":\"\xC0\x80\"}"}) {
    EXPECT_FALSE(JsonDocument::parse_object(text)) << text;
  }
}

TEST(JsonDocumentTest, RefusesLoneSurrogatesEverywhere) {
  for (const char* text :
       {R"({"a":"\ud800"})", R"({"a":"\udc00"})", R"({"a":"\ud800x"})", R"({"a":"\ud800\u0041"})",
        R"({"a":"\ud800\ue000"})", R"({"a":"\ud800\ud800"})", R"({"a":"\uD83E\n"})",
        R"({"\udfff":1})", R"({"x":[{"y":"\udc00\ud800"}]})"}) {
    EXPECT_FALSE(JsonDocument::parse_object(text)) << text;
  }
}

TEST(JsonDocumentTest, EscapedBackslashBeforeUIsNoEscape) {
  const auto document = JsonDocument::parse_object(R"({"a":"\\ud800","b":"\\\\udc00"})");

  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("a")->text(), "\\ud800");
}

TEST(JsonDocumentTest, NulIsLegalText) {
  const auto document = JsonDocument::parse_object(R"({"a":"a\u0000b"})");

  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("a")->text(), std::string_view("a\0b", 3));
}

TEST(JsonDocumentTest, RefusesDuplicateKeysAtEveryLevel) {
  for (const char* text : {R"({"a":1,"a":2})", R"({"x":{"a":1,"b":2,"a":3}})",
                           R"({"x":[{"é":1,"\u00e9":2}]})", R"({"":1,"":2})"}) {
    const auto document = JsonDocument::parse_object(text);
    ASSERT_FALSE(document) << text;
    EXPECT_NE(document.error().message.find("duplicate key"), std::string::npos) << text;
  }
  EXPECT_TRUE(JsonDocument::parse_object(R"({"a":{"a":1},"b":{"a":1}})"));
}

TEST(JsonDocumentTest, DepthCountsInValuesThatNobodyReads) {
  const JsonLimits limits{.max_depth = 4};

  EXPECT_TRUE(JsonDocument::parse_object("{\"x\":" + nested_arrays(3) + "}", limits));
  EXPECT_FALSE(JsonDocument::parse_object("{\"x\":" + nested_arrays(4) + "}", limits));
  EXPECT_TRUE(JsonDocument::parse(nested_arrays(4), limits));
  EXPECT_FALSE(JsonDocument::parse(nested_arrays(5), limits));
}

TEST(JsonDocumentTest, DeepNestingIsRefusedQuickly) {
  for (const int depth : {3000, 10000, 1000000}) {
    for (const char* prefix : {"{\"tools\":", "{\"x\":", "{\"metadata\":{\"a\":"}) {
      const std::string text = prefix + std::string(static_cast<std::size_t>(depth), '[');
      const auto start = std::chrono::steady_clock::now();
      EXPECT_FALSE(JsonDocument::parse_object(text));
      EXPECT_FALSE(JsonDocument::parse_object(prefix + nested_arrays(depth) + "}"));
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    }
  }
}

TEST(JsonDocumentTest, TooManyMembersOfOneObjectAreRefused) {
  const JsonLimits limits{.max_members = 3};

  EXPECT_TRUE(JsonDocument::parse(R"({"a":1,"b":2,"c":3})", limits));
  EXPECT_FALSE(JsonDocument::parse(R"({"a":1,"b":2,"c":3,"d":4})", limits));
}

TEST(JsonDocumentTest, IntegersFitIn64BitsWithoutFractionOrExponent) {
  const auto integer = [](std::string_view text) {
    return JsonDocument::parse(text)->root().to_int64();
  };

  EXPECT_EQ(integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(integer("-0"), 0);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "18446744073709551616",
                           "1.0", "1e2", "1E400"}) {
    EXPECT_FALSE(integer(text)) << text;
  }
}

TEST(JsonDocumentTest, DoublesAreFiniteAndTinyOnesAreZero) {
  const auto number = [](std::string_view text) {
    return JsonDocument::parse(text)->root().to_double();
  };

  EXPECT_EQ(number("0.25"), 0.25);
  EXPECT_EQ(number("18446744073709551616"), 18446744073709551616.0);
  for (const char* text : {"1e-400", "-1e-999999999999999999999", "0.0000001e-330", "0e999",
                           "0.00e99999999999999999999"}) {
    EXPECT_EQ(number(text), 0.0) << text;
  }
  for (const char* text : {"1e400", "-1e400", "1e999999999999999999999", "123456789e301"}) {
    EXPECT_FALSE(number(text)) << text;
  }
}

TEST(JsonDocumentTest, NumberOutOfRangeDoesNotSpoilTheDocument) {
  const auto document = JsonDocument::parse_object(R"({"x":1e400,"y":99999999999999999999,"z":1})");

  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("z")->to_int64(), 1);
}

}  // namespace
}  // namespace paceline::openai
