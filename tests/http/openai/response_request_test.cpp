#include "http/openai/response_request.h"

#include <gtest/gtest.h>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

Result<ResponseRequest> parse(std::string_view fields) {
  return parse_response_request(R"({"model":"m",)" + std::string(fields) + "}", test_context());
}

Result<ResponseRequest> parse_item(std::string_view item) {
  return parse("\"input\":[" + std::string(item) + "]");
}

TEST(ResponseRequestTest, StringInputIsOneUserMessage) {
  const auto request = parse(R"("input":"Hi")");

  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->input.size(), 1U);
  EXPECT_EQ(std::get<MessageItem>(request->input[0]).text, "Hi");
  EXPECT_TRUE(request->store);
  EXPECT_FALSE(request->stream);
  EXPECT_FALSE(request->fields.max_tokens);
}

TEST(ResponseRequestTest, ReadsAllKindsOfItems) {
  const auto request = parse(
      R"("input":[{"role":"developer","content":"d","id":"x","status":"completed"},
          {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"text","text":"b"}]},
          {"type":"function_call","call_id":"c","name":"f","arguments":"{}","id":"fc_1"},
          {"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"18"}]}])");

  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->input.size(), 4U);
  EXPECT_EQ(std::get<MessageItem>(request->input[0]).role, Role::kSystem);
  EXPECT_EQ(std::get<MessageItem>(request->input[1]).text, "ab");
  EXPECT_EQ(std::get<FunctionCallItem>(request->input[2]).arguments, "{}");
  EXPECT_EQ(std::get<FunctionResultItem>(request->input[3]).output, "18");
}

TEST(ResponseRequestTest, InputMayBeAbsentOnlyWithAPreviousResponse) {
  EXPECT_TRUE(parse(R"("previous_response_id":"resp_1")"));
  EXPECT_TRUE(parse(R"("previous_response_id":"resp_1","input":[])"));
  expect_refused(parse(R"("store":true)"), {"none", ErrorCode::kMissingRequiredParameter, "input"});
  expect_refused(parse(R"("input":[])"), {"empty", ErrorCode::kInvalidValue, "input"});
}

TEST(ResponseRequestTest, WrongItemsAreRefusedWithTheirPath) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"(5)", kInvalidType, "input[0]"},
      {R"({"type":5})", kInvalidType, "input[0].type"},
      {R"({"type":"item_reference","id":"x"})", kUnsupportedParameter, "input[0].type"},
      {R"({"type":"reasoning"})", kUnsupportedParameter, "input[0].type"},
      {R"({"content":"x"})", kMissingRequiredParameter, "input[0].role"},
      {R"({"role":"tool","content":"x"})", kInvalidValue, "input[0].role"},
      {R"({"role":"user"})", kMissingRequiredParameter, "input[0].content"},
      {R"({"role":"user","content":[{"type":"input_image"}]})", kInvalidValue, "input[0].content"},
      {R"({"type":"function_call","name":"f","arguments":"{}"})", kMissingRequiredParameter,
       "input[0].call_id"},
      {R"({"type":"function_call","call_id":"c","arguments":"{}"})", kMissingRequiredParameter,
       "input[0].name"},
      {R"({"type":"function_call","call_id":"c","name":"f","arguments":{}})", kInvalidType,
       "input[0].arguments"},
      {R"({"type":"function_call_output","call_id":"c"})", kMissingRequiredParameter,
       "input[0].output"},
      {R"({"type":"function_call_output","call_id":"c","output":[{"type":"text","text":"x"}]})",
       kInvalidValue, "input[0].output"},
  };
  for (const Refusal& row : rows) expect_refused(parse_item(row.input), row);
}

TEST(ResponseRequestTest, FieldsAreServedNowOrRefusedByName) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("input":5)", kInvalidType, "input"},
      {R"("input":"x","background":true)", kUnsupportedParameter, "background"},
      {R"("input":"x","conversation":"c")", kUnsupportedParameter, "conversation"},
      {R"("input":"x","prompt":{})", kUnsupportedParameter, "prompt"},
      {R"("input":"x","max_tool_calls":1)", kUnsupportedParameter, "max_tool_calls"},
      {R"("input":"x","context_management":[])", kUnsupportedParameter, "context_management"},
      {R"("input":"x","reasoning":{"effort":"high"})", kUnsupportedParameter, "reasoning.effort"},
      {R"("input":"x","reasoning":{"summary":"auto"})", kUnsupportedParameter, "reasoning.summary"},
      {R"("input":"x","prompt_cache_retention":"24h")", kUnsupportedParameter,
       "prompt_cache_retention"},
      {R"("input":"x","text":{"format":{"type":"json_object"}})", kUnsupportedParameter,
       "text.format"},
      {R"("input":"x","text":{"verbosity":"high"})", kUnsupportedParameter, "text.verbosity"},
      {R"("input":"x","text":{"foo":1})", kUnknownParameter, "text.foo"},
      {R"("input":"x","truncation":"auto")", kUnsupportedParameter, "truncation"},
      {R"("input":"x","stream_options":{"include_obfuscation":true})", kUnsupportedParameter,
       "stream_options.include_obfuscation"},
      {R"("input":"x","stream_options":{"include_usage":true})", kUnknownParameter,
       "stream_options.include_usage"},
      {R"("input":"x","include":["nope"])", kInvalidValue, "include"},
      {R"("input":"x","include":[5])", kInvalidType, "include"},
      {R"("input":"x","top_logprobs":2)", kInvalidValue, "top_logprobs"},
      {R"("input":"x","top_logprobs":21,"include":["message.output_text.logprobs"])", kInvalidValue,
       "top_logprobs"},
      {R"("input":"x","max_output_tokens":0)", kInvalidValue, "max_output_tokens"},
      {R"("input":"x","instructions":5)", kInvalidType, "instructions"},
      {R"("input":"x","previous_response_id":5)", kInvalidType, "previous_response_id"},
      {R"("input":"x","store":1)", kInvalidType, "store"},
      {R"("input":"x","tools":[{"type":"web_search"}])", kUnsupportedParameter, "tools[0].type"},
      {R"("input":"x","tools":[{"type":"function","name":"f"}])", kUnsupportedParameter, "tools"},
      {R"("input":"x","structured_outputs":{"regex":"a"})", kUnsupportedParameter,
       "structured_outputs"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);

  const auto request = parse(
      R"("input":"x","background":false,"reasoning":{},"text":{"format":{"type":"text"},"verbosity":"medium"},
         "truncation":"disabled","stream":true,"stream_options":{"include_obfuscation":false},
         "include":["message.output_text.logprobs","reasoning.encrypted_content"],"top_logprobs":2,
         "tools":[{"type":"function","name":"f"}],"tool_choice":"none","n":4)");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request->stream && request->include_logprobs);
  EXPECT_EQ(request->fields.sampling.top_logprobs, 2);
  EXPECT_EQ(request->fields.sampling.n, 1);
  EXPECT_EQ(request->fields.ignored.names, std::vector<std::string>{"n"});
}

TEST(ResponseRequestTest, InputTokensAcceptToolsOfAnyChoice) {
  const auto request = parse_input_tokens_request(
      R"({"model":"m","input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":"required"})",
      test_context());

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->tools.tools.size(), 1U);
}

}  // namespace
}  // namespace paceline::openai
