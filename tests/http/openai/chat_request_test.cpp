#include "http/openai/chat_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

/// A small valid body with `fields` added.
std::string body_with(std::string_view fields) {
  std::string body = R"({"model":"m","messages":[{"role":"user","content":"Hello"}])";
  if (!fields.empty()) body.append(",").append(fields);
  return body + "}";
}

Result<ChatRequest> parse(std::string_view fields) {
  return parse_chat_request(body_with(fields), test_context());
}

TEST(ChatRequestTest, SmallestRequestHasTheDefaults) {
  const auto request = parse("");

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->fields.model, "m");
  EXPECT_FALSE(request->fields.max_tokens);
  EXPECT_EQ(request->fields.sampling.temperature, 1.0);
  EXPECT_EQ(request->fields.sampling.n, 1);
  EXPECT_FALSE(request->fields.sampling.seed);
  EXPECT_FALSE(request->stream.stream);
  ASSERT_EQ(request->prompt.messages.size(), 1U);
  EXPECT_EQ(request->prompt.messages[0].content, "Hello");
  EXPECT_TRUE(request->prompt.template_options.add_generation_prompt);
  EXPECT_EQ(request->fields.effective_priority(-5), 0);
  EXPECT_EQ(request->fields.ignored.count, 0U);
}

TEST(ChatRequestTest, ReadsEveryServedField) {
  const auto request = parse(R"("max_completion_tokens":7,"max_tokens":9,"temperature":0.5,
    "top_p":0.9,"top_k":40,"min_p":0.1,"presence_penalty":-2,"frequency_penalty":2,
    "repetition_penalty":1.1,"logit_bias":{"9707":100,"0":-1.5},"seed":-9223372036854775808,"n":3,
    "stop":["a","b"],"stop_token_ids":[1,2],"ignore_eos":true,"min_tokens":2,"logprobs":true,
    "top_logprobs":20,"stream":true,
    "stream_options":{"include_usage":true,"continuous_usage_stats":true,"include_obfuscation":false},
    "priority":-3,"service_tier":"flex","metadata":{"k":"v"},"user":"u","safety_identifier":"s",
    "prompt_cache_key":"p","cache_salt":"c","return_token_ids":true,"include_receipt":true,
    "timeout_ms":1,"slo_ttft_ms":3600000,"chat_template_kwargs":{"enable_thinking":false})");

  ASSERT_TRUE(request) << request.error().message;
  const GenerationFields& fields = request->fields;
  const SamplingParams& sampling = fields.sampling;
  EXPECT_EQ(fields.max_tokens, 7);
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.1);
  EXPECT_EQ(sampling.presence_penalty, -2);
  EXPECT_EQ(sampling.frequency_penalty, 2);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_EQ(sampling.logit_bias,
            (std::vector<std::pair<TokenId, float>>{{TokenId{9707}, 100.0F}, {TokenId{0}, -1.5F}}));
  EXPECT_EQ(sampling.seed, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(sampling.n, 3);
  EXPECT_EQ(sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(sampling.stop_token_ids, (std::vector{TokenId{1}, TokenId{2}}));
  EXPECT_TRUE(sampling.ignore_eos);
  EXPECT_EQ(sampling.min_tokens, 2);
  EXPECT_TRUE(sampling.logprobs);
  EXPECT_EQ(sampling.top_logprobs, 20);
  EXPECT_TRUE(request->stream.stream && request->stream.include_usage &&
              request->stream.continuous_usage_stats);
  EXPECT_EQ(fields.effective_priority(0), -3);
  EXPECT_EQ(fields.service_tier, ServiceTier::kFlex);
  EXPECT_EQ(fields.metadata.size(), 1U);
  EXPECT_EQ(fields.user, "u");
  EXPECT_EQ(fields.safety_identifier, "s");
  EXPECT_EQ(fields.prompt_cache_key, "p");
  EXPECT_EQ(fields.cache_salt, "c");
  EXPECT_TRUE(fields.return_token_ids && fields.include_receipt);
  EXPECT_EQ(fields.timeout, std::chrono::milliseconds(1));
  EXPECT_EQ(fields.slo_ttft, std::chrono::hours(1));
  EXPECT_EQ(fields.ignored.count, 0U);
}

TEST(ChatRequestTest, NullEqualsAbsent) {
  std::string nulls;
  for (const char* name : {"max_completion_tokens",
                           "max_tokens",
                           "temperature",
                           "top_p",
                           "top_k",
                           "min_p",
                           "presence_penalty",
                           "frequency_penalty",
                           "repetition_penalty",
                           "logit_bias",
                           "seed",
                           "n",
                           "stop",
                           "stop_token_ids",
                           "ignore_eos",
                           "min_tokens",
                           "logprobs",
                           "top_logprobs",
                           "stream",
                           "stream_options",
                           "response_format",
                           "structured_outputs",
                           "close_at_limit",
                           "tools",
                           "tool_choice",
                           "parallel_tool_calls",
                           "chat_template_kwargs",
                           "add_generation_prompt",
                           "continue_final_message",
                           "priority",
                           "service_tier",
                           "metadata",
                           "user",
                           "safety_identifier",
                           "prompt_cache_key",
                           "cache_salt",
                           "return_token_ids",
                           "include_receipt",
                           "truncation",
                           "truncation_options",
                           "timeout_ms",
                           "slo_ttft_ms",
                           "store",
                           "audio",
                           "prediction",
                           "web_search_options",
                           "functions",
                           "function_call",
                           "moderation",
                           "prompt_cache_options",
                           "modalities",
                           "reasoning_effort",
                           "verbosity",
                           "prompt_cache_retention",
                           "best_of"}) {
    nulls.append(nulls.empty() ? "\"" : ",\"").append(name).append("\":null");
  }

  const auto request = parse(nulls);

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->fields.sampling.temperature, 1.0);
  EXPECT_EQ(request->fields.ignored.count, 0U);
  EXPECT_TRUE(request->prompt.template_options.add_generation_prompt);
}

TEST(ChatRequestTest, ValuesOutOfRangeAreRefusedByName) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("temperature":-0.1)", kInvalidValue, "temperature"},
      {R"("temperature":2.1)", kInvalidValue, "temperature"},
      {R"("temperature":1e400)", kInvalidValue, "temperature"},
      {R"("top_p":-0.1)", kInvalidValue, "top_p"},
      {R"("top_p":1.1)", kInvalidValue, "top_p"},
      {R"("min_p":2)", kInvalidValue, "min_p"},
      {R"("top_k":-2)", kInvalidValue, "top_k"},
      {R"("presence_penalty":2.1)", kInvalidValue, "presence_penalty"},
      {R"("frequency_penalty":-2.1)", kInvalidValue, "frequency_penalty"},
      {R"("repetition_penalty":0)", kInvalidValue, "repetition_penalty"},
      {R"("repetition_penalty":10.5)", kInvalidValue, "repetition_penalty"},
      {R"("n":0)", kInvalidValue, "n"},
      {R"("n":129)", kInvalidValue, "n"},
      {R"("top_logprobs":21,"logprobs":true)", kInvalidValue, "top_logprobs"},
      {R"("top_logprobs":3)", kInvalidValue, "top_logprobs"},
      {R"("best_of":2)", kUnsupportedParameter, "best_of"},
      {R"("max_tokens":0)", kInvalidValue, "max_tokens"},
      {R"("max_tokens":-1)", kInvalidValue, "max_tokens"},
      {R"("max_completion_tokens":0)", kInvalidValue, "max_completion_tokens"},
      {R"("max_completion_tokens":2,"max_tokens":0)", kInvalidValue, "max_tokens"},
      {R"("min_tokens":-1)", kInvalidValue, "min_tokens"},
      {R"("min_tokens":3,"max_tokens":2)", kInvalidValue, "min_tokens"},
      {R"("stop_token_ids":[151665])", kInvalidValue, "stop_token_ids"},
      {R"("stop_token_ids":[-1])", kInvalidValue, "stop_token_ids"},
      {R"("priority":101)", kInvalidValue, "priority"},
      {R"("service_tier":"scale")", kInvalidValue, "service_tier"},
      {R"("cache_salt":"")", kInvalidValue, "cache_salt"},
      {R"("timeout_ms":0)", kInvalidValue, "timeout_ms"},
      {R"("slo_ttft_ms":3600001)", kInvalidValue, "slo_ttft_ms"},
      {R"("chat_template_kwargs":{"messages":[]})", kInvalidValue, "chat_template_kwargs"},
      {R"("chat_template_kwargs":{"add_generation_prompt":false})", kInvalidValue,
       "chat_template_kwargs"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);
}

TEST(ChatRequestTest, WrongTypesAreRefusedByName) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("temperature":"hot")", kInvalidType, "temperature"},
      {R"("temperature":true)", kInvalidType, "temperature"},
      {R"("temperature":[])", kInvalidType, "temperature"},
      {R"("max_tokens":"10")", kInvalidType, "max_tokens"},
      {R"("max_tokens":1.5)", kInvalidType, "max_tokens"},
      {R"("max_tokens":1e400)", kInvalidType, "max_tokens"},
      {R"("max_tokens":18446744073709551616)", kInvalidType, "max_tokens"},
      {R"("stream":"true")", kInvalidType, "stream"},
      {R"("stream":1)", kInvalidType, "stream"},
      {R"("n":true)", kInvalidType, "n"},
      {R"("n":1.5)", kInvalidType, "n"},
      {R"("seed":1.0)", kInvalidType, "seed"},
      {R"("tools":{})", kInvalidType, "tools"},
      {R"("stop":5)", kInvalidType, "stop"},
      {R"("stop":[1])", kInvalidType, "stop"},
      {R"("logit_bias":[])", kInvalidType, "logit_bias"},
      {R"("user":5)", kInvalidType, "user"},
      {R"("logprobs":"yes")", kInvalidType, "logprobs"},
      {R"("stop_token_ids":["1"])", kInvalidType, "stop_token_ids"},
      {R"("stop_token_ids":5)", kInvalidType, "stop_token_ids"},
      {R"("metadata":[])", kInvalidType, "metadata"},
      {R"("metadata":{"a":1})", kInvalidType, "metadata"},
      {R"("stream":true,"stream_options":5)", kInvalidType, "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", kInvalidType,
       "stream_options.include_usage"},
      {R"("chat_template_kwargs":5)", kInvalidType, "chat_template_kwargs"},
      {R"("response_format":"text")", kInvalidType, "response_format"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);

  const Refusal model{R"({"model":5,"messages":[]})", kInvalidType, "model"};
  expect_refused(parse_chat_request(model.input, test_context()), model);
  const Refusal no_model{R"({"messages":[]})", kMissingRequiredParameter, "model"};
  expect_refused(parse_chat_request(no_model.input, test_context()), no_model);
}

TEST(ChatRequestTest, LogitBiasTakesIdsAsStringsOnly) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("logit_bias":{"151665":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"151936":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"-1":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"abc":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"007":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"99999999999999999999":1})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"9707":101})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"9707":-100.5})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"9707":1e400})", kInvalidValue, "logit_bias"},
      {R"("logit_bias":{"9707":"x"})", kInvalidType, "logit_bias"},
      {R"("logit_bias":{"9707":null})", kInvalidType, "logit_bias"},
      {R"("logit_bias":[[9707,1]])", kInvalidType, "logit_bias"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);
}

TEST(ChatRequestTest, LogitBiasHasAtMost1024Entries) {
  const auto bias_of = [](int entries) {
    std::string bias = R"("logit_bias":{)";
    for (int i = 0; i < entries; ++i) {
      bias.append(i == 0 ? "\"" : ",\"").append(std::to_string(i)).append("\":1");
    }
    return bias + "}";
  };

  EXPECT_TRUE(parse(bias_of(300)));
  EXPECT_TRUE(parse(bias_of(1024)));
  const auto too_many = parse(bias_of(1025));
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().param, "logit_bias");
}

TEST(ChatRequestTest, StopIsAStringOrUpToFour) {
  const std::string long_text(10240, 'x');
  for (const std::string& good :
       {std::string(R"("stop":null)"), std::string(R"("stop":[])"), std::string(R"("stop":"END")"),
        std::string(R"("stop":["END"])"), std::string(R"("stop":["a","b","c","d"])"),
        "\"stop\":\"" + long_text + "\""}) {
    EXPECT_TRUE(parse(good)) << good;
  }
  const std::string too_long = "\"stop\":\"" + std::string(16385, 'x') + "\"";
  for (const std::string_view bad :
       {std::string_view(R"("stop":"")"), std::string_view(R"("stop":[""])"),
        std::string_view(R"("stop":["a","b","c","d","e"])"), std::string_view(too_long)}) {
    expect_refused(parse(bad), {bad, ErrorCode::kInvalidValue, "stop"});
  }
}

TEST(ChatRequestTest, StreamOptionsNeedAStream) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("stream_options":{"include_usage":true})", kInvalidValue, "stream_options"},
      {R"("stream":false,"stream_options":{})", kInvalidValue, "stream_options"},
      {R"("stream":true,"stream_options":{"continuous_usage_stats":true})", kInvalidValue,
       "stream_options.continuous_usage_stats"},
      {R"("stream":true,"stream_options":{"include_obfuscation":true})", kUnsupportedParameter,
       "stream_options.include_obfuscation"},
      {R"("stream":true,"stream_options":{"foo":1})", kUnknownParameter, "stream_options.foo"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);
}

TEST(ChatRequestTest, ReceiptInAStreamImpliesUsage) {
  const auto streamed = parse(R"("stream":true,"include_receipt":true)");
  const auto plain = parse(R"("include_receipt":true)");

  ASSERT_TRUE(streamed && plain);
  EXPECT_TRUE(streamed->stream.include_usage);
  EXPECT_FALSE(plain->stream.include_usage);
}

TEST(ChatRequestTest, KnownFieldsThatAreNotServedAreRefused) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"("store":true)", kUnsupportedParameter, "store"},
      {R"("audio":{})", kUnsupportedParameter, "audio"},
      {R"("prediction":{})", kUnsupportedParameter, "prediction"},
      {R"("web_search_options":{})", kUnsupportedParameter, "web_search_options"},
      {R"("functions":[])", kUnsupportedParameter, "functions"},
      {R"("function_call":"auto")", kUnsupportedParameter, "function_call"},
      {R"("moderation":{})", kUnsupportedParameter, "moderation"},
      {R"("prompt_cache_options":{})", kUnsupportedParameter, "prompt_cache_options"},
      {R"("modalities":["audio"])", kUnsupportedParameter, "modalities"},
      {R"("modalities":["text","audio"])", kUnsupportedParameter, "modalities"},
      {R"("reasoning_effort":"low")", kUnsupportedParameter, "reasoning_effort"},
      {R"("verbosity":"low")", kUnsupportedParameter, "verbosity"},
      {R"("prompt_cache_retention":"24h")", kUnsupportedParameter, "prompt_cache_retention"},
      {R"("response_format":{"type":"json_object"})", kUnsupportedParameter, "response_format"},
      {R"("response_format":{"type":"foo"})", kInvalidValue, "response_format.type"},
      {R"("response_format":{})", kMissingRequiredParameter, "response_format.type"},
      {R"("response_format":{"type":"text","foo":1})", kUnknownParameter, "response_format.foo"},
      {R"("structured_outputs":{"regex":"a"})", kUnsupportedParameter, "structured_outputs"},
      {R"("structured_outputs":{})", kInvalidValue, "structured_outputs"},
      {R"("structured_outputs":{"foo":1})", kUnknownParameter, "structured_outputs.foo"},
      {R"("close_at_limit":true)", kUnsupportedParameter, "close_at_limit"},
      {R"("truncation":"auto")", kUnsupportedParameter, "truncation"},
      {R"("truncation":"maybe")", kInvalidValue, "truncation"},
      {R"("truncation_options":{})", kInvalidValue, "truncation_options"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);
}

TEST(ChatRequestTest, KnownFieldsAreAcceptedWithTheValueThatChangesNothing) {
  const auto request = parse(
      R"("store":false,"modalities":["text"],"reasoning_effort":"none","verbosity":"medium",
         "prompt_cache_retention":"in_memory","best_of":1,"response_format":{"type":"text"},
         "close_at_limit":false,"truncation":"disabled","service_tier":"auto","metadata":{})");

  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->fields.ignored.count, 0U);
}

TEST(ChatRequestTest, UnknownFieldsAreNamedInOrder) {
  const auto request = parse(R"("foo":{"a":[1]},"temperature":1,"bär x":null)");

  ASSERT_TRUE(request);
  EXPECT_EQ(request->fields.ignored.names, (std::vector<std::string>{"foo", "bär x"}));
  EXPECT_EQ(ignored_header(request->fields.ignored), "foo,b%C3%A4r%20x");
}

TEST(ChatRequestTest, IgnoredHeaderIsBounded) {
  std::string fields;
  for (int i = 0; i < 20; ++i) {
    fields.append(i == 0 ? "" : ",").append("\"f" + std::to_string(i) + "\":1");
  }
  const auto many = parse(fields);
  const auto long_name =
      parse("\"" + std::string(100, 'x') + "\":1,\"" + "é" + std::string(99, '/') + "\":1");
  ASSERT_TRUE(many && long_name);

  EXPECT_EQ(ignored_header(many->fields.ignored),
            "f0,f1,f2,f3,f4,f5,f6,f7,f8,f9,f10,f11,f12,f13,f14,f15,...");
  EXPECT_EQ(many->fields.ignored.count, 20U);
  std::string second = "%C3%A9";
  for (int i = 0; i < 19; ++i) second += "%2F";
  EXPECT_EQ(ignored_header(long_name->fields.ignored), std::string(64, 'x') + "," + second);
}

TEST(ChatRequestTest, StrictServerRefusesUnknownFields) {
  ParseContext context = test_context();
  context.strict_fields = true;

  const auto result = parse_chat_request(body_with(R"("foo":1)"), context);

  expect_refused(result, {"foo", ErrorCode::kUnknownParameter, "foo"});
  EXPECT_TRUE(parse_chat_request(body_with(R"("user":"u")"), context));
}

TEST(ChatRequestTest, OperatorDefaultsApplyWhereAFieldIsAbsent) {
  ParseContext context = test_context();
  context.default_sampling.temperature = 0.7;
  context.default_sampling.top_k = 20;

  const auto request = parse_chat_request(body_with(R"("top_k":5)"), context);

  ASSERT_TRUE(request);
  EXPECT_EQ(request->fields.sampling.temperature, 0.7);
  EXPECT_EQ(request->fields.sampling.top_k, 5);
}

TEST(ChatRequestTest, ServiceTierGivesThePriorityUnlessOneIsAsked) {
  const auto flex = parse(R"("service_tier":"flex")");
  const auto best = parse(R"("service_tier":"priority")");
  const auto asked = parse(R"("service_tier":"priority","priority":7)");
  ASSERT_TRUE(flex && best && asked);

  EXPECT_EQ(flex->fields.effective_priority(-5), 100);
  EXPECT_EQ(best->fields.effective_priority(-5), -5);
  EXPECT_EQ(asked->fields.effective_priority(-5), 7);
}

TEST(ChatRequestTest, FlagsForTheEndOfThePromptExcludeEachOther) {
  const auto parse_turns = [](std::string_view fields) {
    return parse_chat_request(
        R"({"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Sure, "}],)" +
            std::string(fields) + "}",
        test_context());
  };
  const auto open = parse_turns(R"("continue_final_message":true)");
  const auto explicit_open =
      parse_turns(R"("continue_final_message":true,"add_generation_prompt":false)");
  ASSERT_TRUE(open && explicit_open);

  EXPECT_TRUE(open->prompt.template_options.continue_final_message);
  EXPECT_FALSE(open->prompt.template_options.add_generation_prompt);
  expect_refused(parse_turns(R"("continue_final_message":true,"add_generation_prompt":true)"),
                 {"both", ErrorCode::kInvalidValue, "continue_final_message"});
  expect_refused(parse(R"("continue_final_message":true)"),
                 {"user last", ErrorCode::kInvalidValue, "continue_final_message"});
}

TEST(ChatRequestTest, CapsAboveAnIntAreTheLargestInt) {
  const auto request = parse(R"("max_tokens":9223372036854775807)");

  ASSERT_TRUE(request);
  EXPECT_EQ(request->fields.max_tokens, std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace paceline::openai
