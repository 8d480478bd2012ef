#include "http/openai/plain_answers.h"

#include <gtest/gtest.h>

namespace paceline::openai {
namespace {

TEST(PlainAnswersTest, ModelsListAliasesAsEntriesOfTheirOwn) {
  const ModelEntry entries[] = {{"qwen", "qwen", 1790000000, 4096},
                                {"best", "qwen", 1790000000, 64}};

  EXPECT_EQ(
      write_model_list(entries),
      R"({"object":"list","data":[{"id":"qwen","object":"model","created":1790000000,"owned_by":"paceline","root":"qwen","parent":null,"max_model_len":4096},{"id":"best","object":"model","created":1790000000,"owned_by":"paceline","root":"qwen","parent":null,"max_model_len":64}]})");
  EXPECT_EQ(
      write_model(entries[1]),
      R"({"id":"best","object":"model","created":1790000000,"owned_by":"paceline","root":"qwen","parent":null,"max_model_len":64})");
}

TEST(PlainAnswersTest, TokensMayComeWithTheirTexts) {
  const std::vector<TokenId> ids{TokenId{1}, TokenId{2}};
  const std::vector<std::string_view> texts{"a", "\xE6"};

  EXPECT_EQ(write_tokens(ids, 4096, nullptr),
            R"({"tokens":[1,2],"count":2,"max_model_len":4096,"token_strs":null})");
  EXPECT_EQ(write_tokens(ids, 4096, &texts),
            "{\"tokens\":[1,2],\"count\":2,\"max_model_len\":4096,\"token_strs\":[\"a\","
            "\"\xEF\xBF\xBD\"]}");
}

TEST(PlainAnswersTest, SmallBodies) {
  EXPECT_EQ(write_prompt("a\n"), R"({"prompt":"a\n"})");
  EXPECT_EQ(write_input_tokens(30), R"({"object":"response.input_tokens","input_tokens":30})");
  EXPECT_EQ(write_response_deleted("resp_1"),
            R"({"id":"resp_1","object":"response","deleted":true})");
}

}  // namespace
}  // namespace paceline::openai
