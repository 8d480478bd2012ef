#include "http/openai/tokenize_request.h"

#include <gtest/gtest.h>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

TEST(TokenizeRequestTest, TextParsesSpecialTokensUnlessToldNotTo) {
  const auto plain = parse_tokenize_request(R"({"prompt":"x"})", test_context());
  const auto literal = parse_tokenize_request(
      R"({"model":"m","prompt":"x","parse_special":false,"return_token_strs":true})",
      test_context());
  ASSERT_TRUE(plain && literal);

  EXPECT_TRUE(std::get<TextPrompt>(plain->prompt).parse_special);
  EXPECT_FALSE(plain->model);
  EXPECT_FALSE(std::get<TextPrompt>(literal->prompt).parse_special);
  EXPECT_TRUE(literal->return_token_strs);
  EXPECT_EQ(literal->model, "m");
}

TEST(TokenizeRequestTest, MessagesMayHaveTools) {
  const auto request = parse_tokenize_request(
      R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f"}}],"add_generation_prompt":false})",
      test_context());

  ASSERT_TRUE(request) << request.error().message;
  const auto& prompt = std::get<ChatPrompt>(request->prompt);
  EXPECT_EQ(prompt.template_options.tools.size(), 1U);
  EXPECT_FALSE(prompt.template_options.add_generation_prompt);
}

TEST(TokenizeRequestTest, WrongRequestsAreRefused) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"({})", kMissingRequiredParameter, "prompt"},
      {R"({"prompt":5})", kInvalidType, "prompt"},
      {R"({"prompt":"x","messages":[]})", kInvalidValue, "prompt"},
      {R"({"messages":[]})", kInvalidValue, "messages"},
      {R"({"prompt":"x","parse_special":1})", kInvalidType, "parse_special"},
      {R"({"prompt":"x","model":1})", kInvalidType, "model"},
  };
  for (const Refusal& row : rows) {
    expect_refused(parse_tokenize_request(row.input, test_context()), row);
  }
}

TEST(TokenizeRequestTest, DetokenizeChecksIds) {
  using enum ErrorCode;
  const auto request = parse_detokenize_request(
      R"({"tokens":[0,151664],"skip_special_tokens":true})", test_context());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->tokens, (std::vector{TokenId{0}, TokenId{151664}}));
  EXPECT_TRUE(request->skip_special_tokens);

  const Refusal rows[] = {
      {R"({})", kMissingRequiredParameter, "tokens"},
      {R"({"tokens":5})", kInvalidType, "tokens"},
      {R"({"tokens":["a"]})", kInvalidType, "tokens"},
      {R"({"tokens":[1.5]})", kInvalidType, "tokens"},
      {R"({"tokens":[-1]})", kInvalidValue, "tokens"},
      {R"({"tokens":[151665]})", kInvalidValue, "tokens"},
  };
  for (const Refusal& row : rows) {
    expect_refused(parse_detokenize_request(row.input, test_context()), row);
  }
}

TEST(TokenizeRequestTest, ApplyTemplateNeedsMessages) {
  EXPECT_TRUE(parse_apply_template_request(R"({"messages":[{"role":"user","content":"x"}]})",
                                           test_context()));
  expect_refused(parse_apply_template_request("{}", test_context()),
                 {"{}", ErrorCode::kMissingRequiredParameter, "messages"});
}

}  // namespace
}  // namespace paceline::openai
