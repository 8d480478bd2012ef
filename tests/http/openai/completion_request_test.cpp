#include "http/openai/completion_request.h"

#include <gtest/gtest.h>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

Result<CompletionRequest> parse(std::string_view fields) {
  return parse_completion_request(R"({"model":"m",)" + std::string(fields) + "}", test_context());
}

TEST(CompletionRequestTest, DefaultsAreThoseOfTheContract) {
  const auto request = parse(R"("prompt":"Hi")");

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->fields.max_tokens, 16);
  EXPECT_FALSE(request->fields.sampling.logprobs);
  EXPECT_FALSE(request->echo);
  ASSERT_EQ(request->prompts.size(), 1U);
  EXPECT_EQ(std::get<std::string>(request->prompts[0]), "Hi");
}

TEST(CompletionRequestTest, PromptHasFourForms) {
  const auto texts = parse(R"("prompt":["a",""])");
  const auto ids = parse(R"("prompt":[0,151664])");
  const auto id_lists = parse(R"("prompt":[[1],[2,3]])");
  ASSERT_TRUE(texts && ids && id_lists);

  EXPECT_EQ(texts->prompts, (std::vector<CompletionPrompt>{"a", ""}));
  EXPECT_EQ(ids->prompts,
            (std::vector<CompletionPrompt>{std::vector{TokenId{0}, TokenId{151664}}}));
  EXPECT_EQ(id_lists->prompts, (std::vector<CompletionPrompt>{
                                   std::vector{TokenId{1}}, std::vector{TokenId{2}, TokenId{3}}}));
}

TEST(CompletionRequestTest, WrongPromptsAreRefused) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("x":1)", kMissingRequiredParameter, "prompt"},
      {R"("prompt":null)", kMissingRequiredParameter, "prompt"},
      {R"("prompt":5)", kInvalidType, "prompt"},
      {R"("prompt":{})", kInvalidType, "prompt"},
      {R"("prompt":[])", kInvalidValue, "prompt"},
      {R"("prompt":[-1])", kInvalidValue, "prompt"},
      {R"("prompt":[151665])", kInvalidValue, "prompt"},
      {R"("prompt":[151936])", kInvalidValue, "prompt"},
      {R"("prompt":[5279552648203111001])", kInvalidValue, "prompt"},
      {R"("prompt":[99999999999999999999])", kInvalidType, "prompt"},
      {R"("prompt":[1.5])", kInvalidType, "prompt"},
      {R"("prompt":[null])", kInvalidType, "prompt"},
      {R"("prompt":[true])", kInvalidType, "prompt"},
      {R"("prompt":["a",5])", kInvalidType, "prompt"},
      {R"("prompt":[5,"a"])", kInvalidType, "prompt"},
      {R"("prompt":["a",[5]])", kInvalidType, "prompt"},
      {R"("prompt":[[1],5])", kInvalidType, "prompt"},
      {R"("prompt":[[1],[]])", kInvalidValue, "prompt"},
      {R"("prompt":[[]])", kInvalidValue, "prompt"},
      {R"("prompt":[[[1]]])", kInvalidType, "prompt"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);
}

TEST(CompletionRequestTest, PromptsTimesChoicesIsAtMost128) {
  const auto prompts_of = [](int count) {
    std::string list = R"("prompt":["a")";
    for (int i = 1; i < count; ++i) list += ",\"a\"";
    return list + "]";
  };

  EXPECT_TRUE(parse(prompts_of(128)));
  EXPECT_TRUE(parse(prompts_of(64) + ",\"n\":2"));
  expect_refused(parse(prompts_of(129)), {"129", ErrorCode::kInvalidValue, "prompt"});
  expect_refused(parse(prompts_of(65) + ",\"n\":2"), {"65 x 2", ErrorCode::kInvalidValue, "n"});
}

TEST(CompletionRequestTest, LegacyLogprobsSetTheNumberOfAlternatives) {
  const auto none = parse(R"("prompt":"x","logprobs":0)");
  const auto five = parse(R"("prompt":"x","logprobs":5,"echo":true,"max_tokens":0)");
  ASSERT_TRUE(none && five);

  EXPECT_TRUE(none->fields.sampling.logprobs);
  EXPECT_EQ(none->fields.sampling.top_logprobs, 0);
  EXPECT_EQ(five->fields.sampling.top_logprobs, 5);
  EXPECT_EQ(five->fields.max_tokens, 0);
  EXPECT_TRUE(five->echo);
}

TEST(CompletionRequestTest, FieldsOfChatAreNotServed) {
  for (const char* name :
       {"messages", "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs",
        "add_generation_prompt", "continue_final_message", "truncation", "truncation_options",
        "max_completion_tokens", "top_logprobs"}) {
    const std::string field = std::string("\"") + name + "\":";
    expect_refused(parse(R"("prompt":"x",)" + field + "1"),
                   {name, ErrorCode::kUnsupportedParameter, name});
    EXPECT_TRUE(parse(R"("prompt":"x",)" + field + "null")) << name;
  }
}

TEST(CompletionRequestTest, OtherFieldsAreChecked) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("prompt":"x","suffix":"y")", kUnsupportedParameter, "suffix"},
      {R"("prompt":"x","best_of":2)", kUnsupportedParameter, "best_of"},
      {R"("prompt":"x","n":2,"best_of":1)", kUnsupportedParameter, "best_of"},
      {R"("prompt":"x","logprobs":6)", kInvalidValue, "logprobs"},
      {R"("prompt":"x","logprobs":true)", kInvalidType, "logprobs"},
      {R"("prompt":"x","echo":1)", kInvalidType, "echo"},
      {R"("prompt":"x","max_tokens":-1)", kInvalidValue, "max_tokens"},
      {R"("prompt":"x","temperature":3)", kInvalidValue, "temperature"},
      {R"("prompt":"x","store":true)", kUnsupportedParameter, "store"},
      {R"("prompt":"x","response_format":{"type":"json_object"})", kUnsupportedParameter,
       "response_format"},
      {R"("prompt":"x","stream_options":{})", kInvalidValue, "stream_options"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);

  EXPECT_TRUE(parse(R"("prompt":"x","suffix":"","n":2,"best_of":2)"));
  EXPECT_TRUE(parse(R"("prompt":"x","min_tokens":20)"));  // above the default cap: clamped later
}

}  // namespace
}  // namespace paceline::openai
