#include "http/openai/chat_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "http/openai/json_document.h"

namespace paceline::openai {
namespace {

const AnswerIdentity kIdentity{.id = "chatcmpl-1",
                               .created = 1790000000,
                               .model = "m",
                               .system_fingerprint = "fp_1",
                               .service_tier = "default"};
constexpr std::string_view kHead =
    R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","service_tier":"default","system_fingerprint":"fp_1","choices":[)";

TokenLogprobText token(std::string bytes, float logprob, std::vector<LogprobText> top = {}) {
  return {.chosen = {std::move(bytes), logprob}, .top = std::move(top)};
}

ChoiceDelta delta(int index, std::string text, int completion_tokens) {
  return {.index = index,
          .text = std::move(text),
          .token_ids = {TokenId{completion_tokens}},
          .logprobs = {},
          .completion_tokens = completion_tokens};
}

/// The chunks that events make, without what all chunks begin with.
std::vector<std::string> chunks_of(const AnswerOptions& options, int num_choices,
                                   const std::vector<GenerationEvent>& events) {
  ChatStreamWriter writer(kIdentity, options, num_choices, {TokenId{5}, TokenId{6}});
  std::vector<std::string> chunks;
  for (const GenerationEvent& event : events) {
    writer.write(event, [&](std::string_view json) {
      EXPECT_TRUE(JsonDocument::parse_object(json)) << json;
      const bool has_head = json.substr(0, kHead.size()) == kHead;
      chunks.emplace_back(has_head ? json.substr(kHead.size()) : json);
    });
  }
  return chunks;
}

TEST(ChatWriterTest, BodyHasTheShapeOfTheContract) {
  GenerationResult result;
  result.choices = {{.text = "Hello!", .token_ids = {}, .logprobs = {}}};
  result.usage = {.prompt_tokens = 30, .cached_tokens = 16, .completion_tokens = 2};

  EXPECT_EQ(
      write_chat_completion(kIdentity, {}, result, {}),
      R"({"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"m","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":30,"completion_tokens":2,"total_tokens":32,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":0}}})");
}

TEST(ChatWriterTest, BodyHasExtrasOnlyWhenAsked) {
  GenerationResult result;
  result.choices = {{.text = "a",
                     .token_ids = {TokenId{7}},
                     .logprobs = {token("a", -0.5F, {{"a", -0.5F}, {"\xE6", -2.0F}})},
                     .finish_reason = FinishReason::kLength}};
  result.receipt = {.queue_ms = 3.1,
                    .prefill_ms = 41.0004,
                    .decode_ms = 0,
                    .total_ms = 62.9,
                    .cpu_ms = 117.5,
                    .kv_block_seconds = 0.18,
                    .cached_tokens = 16,
                    .preemptions = 1};
  const std::vector<TokenId> prompt{TokenId{1}};

  const std::string body = write_chat_completion(
      kIdentity, {.logprobs = true, .return_token_ids = true, .include_receipt = true}, result,
      prompt);

  EXPECT_NE(body.find("\"logprobs\":{\"content\":[{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97],"
                      "\"top_logprobs\":["
                      "{\"token\":\"a\",\"logprob\":-0.5,\"bytes\":[97]},{\"token\":"
                      "\"\xEF\xBF\xBD\",\"logprob\":-2,\"bytes\":[230]}]}],"
                      "\"refusal\":null},\"finish_reason\":\"length\",\"token_ids\":[7]"),
            std::string::npos)
      << body;
  EXPECT_NE(
      body.find(
          R"("prompt_token_ids":[1],"paceline":{"receipt":{"queue_ms":3.1,"prefill_ms":41,"decode_ms":0,"total_ms":62.9,"cpu_ms":117.5,"kv_block_seconds":0.18,"cached_tokens":16,"preemptions":1}})"),
      std::string::npos)
      << body;
}

TEST(ChatWriterTest, LogprobsAreFiniteAndAtMostZero) {
  GenerationResult result;
  result.choices = {{.text = "x",
                     .token_ids = {},
                     .logprobs = {token("a", std::numeric_limits<float>::quiet_NaN()),
                                  token("b", -std::numeric_limits<float>::infinity()),
                                  token("c", 1e-7F), token("d", -20000.0F)}}};

  const std::string body = write_chat_completion(kIdentity, {.logprobs = true}, result, {});
  const auto document = JsonDocument::parse_object(body);
  ASSERT_TRUE(document) << body;

  const JsonValue choice = *(*document->root().find("choices")).elements().begin();
  std::vector<double> values;
  for (const JsonValue item : choice.find("logprobs")->find("content")->elements()) {
    values.push_back(*item.find("logprob")->to_double());
  }
  EXPECT_EQ(values, (std::vector<double>{-9999, -9999, 0, -9999}));
}

TEST(ChatWriterTest, StreamHasRoleThenTextThenFinish) {
  const auto chunks =
      chunks_of({}, 1,
                {RequestStarted{}, delta(0, "Hel", 1), delta(0, "", 2), delta(0, "lo\n", 3),
                 ChoiceFinished{0, FinishReason::kStop}, RequestFinished{}});

  const std::vector<std::string> expected{
      R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})",
      R"({"index":0,"delta":{"content":"Hel"},"logprobs":null,"finish_reason":null}]})",
      R"({"index":0,"delta":{"content":"lo\n"},"logprobs":null,"finish_reason":null}]})",
      R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})"};
  EXPECT_EQ(chunks, expected);
}

TEST(ChatWriterTest, EmptyAnswerHasRoleAndFinish) {
  const auto chunks = chunks_of(
      {}, 1, {RequestStarted{}, ChoiceFinished{0, FinishReason::kStop}, RequestFinished{}});

  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_NE(chunks[0].find("\"role\""), std::string::npos);
  EXPECT_NE(chunks[1].find("\"finish_reason\":\"stop\""), std::string::npos);
}

TEST(ChatWriterTest, UsageChunkComesLastAndOtherChunksHaveNull) {
  const auto chunks = chunks_of(
      {.include_usage = true}, 1,
      {RequestStarted{}, delta(0, "a", 1), ChoiceFinished{0, FinishReason::kLength},
       RequestFinished{.usage = {.prompt_tokens = 3, .cached_tokens = 1, .completion_tokens = 1},
                       .receipt = {}}});

  ASSERT_EQ(chunks.size(), 4U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(chunks[static_cast<std::size_t>(i)].find("],\"usage\":null}"), std::string::npos);
  }
  EXPECT_EQ(
      chunks[3],
      R"(],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":0}}})");
}

TEST(ChatWriterTest, ContinuousUsageRisesWithTheText) {
  const auto chunks = chunks_of(
      {.include_usage = true, .continuous_usage_stats = true}, 1,
      {RequestStarted{.usage = {.prompt_tokens = 3}}, delta(0, "a", 1), delta(0, "b", 2)});

  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_NE(chunks[1].find("\"completion_tokens\":1,\"total_tokens\":4"), std::string::npos);
  EXPECT_NE(chunks[2].find("\"completion_tokens\":2,\"total_tokens\":5"), std::string::npos);
}

TEST(ChatWriterTest, ChoicesInterleaveWithOneRoleEach) {
  const auto chunks = chunks_of(
      {}, 2,
      {RequestStarted{}, delta(1, "b", 1), delta(0, "a", 2), ChoiceFinished{1, FinishReason::kStop},
       delta(0, "c", 3), ChoiceFinished{0, FinishReason::kLength}, RequestFinished{}});

  std::string roles;
  for (const std::string& chunk : chunks) {
    if (chunk.find("role") != std::string::npos) roles += chunk[9];
  }
  EXPECT_EQ(roles, "10");
  EXPECT_EQ(chunks.size(), 7U);
}

TEST(ChatWriterTest, IdsAndLogprobsTravelWithTheTextTheyMade) {
  ChoiceDelta first = delta(0, "", 1);
  first.logprobs = {token("\xE9", -1.0F)};
  ChoiceDelta second = delta(0, "é", 2);
  second.logprobs = {token("\xA9", -2.0F)};
  ChoiceDelta last = delta(0, "", 3);
  last.logprobs = {token("E", -3.0F)};

  const auto chunks = chunks_of({.logprobs = true, .return_token_ids = true}, 1,
                                {RequestStarted{}, first, second, last,
                                 ChoiceFinished{0, FinishReason::kStop}, RequestFinished{}});

  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_NE(chunks[0].find("\"prompt_token_ids\":[5,6]"), std::string::npos);
  EXPECT_NE(chunks[1].find("\"token_ids\":[1,2]"), std::string::npos);
  EXPECT_NE(chunks[1].find("\"bytes\":[233]"), std::string::npos);
  EXPECT_NE(chunks[1].find("\"bytes\":[169]"), std::string::npos);
  EXPECT_NE(chunks[2].find("\"token_ids\":[3]"), std::string::npos);
  EXPECT_NE(chunks[2].find("\"logprob\":-3"), std::string::npos);
}

TEST(ChatWriterTest, FailureIsOneErrorEvent) {
  const auto chunks =
      chunks_of({.include_usage = true}, 1,
                {RequestStarted{}, delta(0, "a", 1),
                 RequestFailed{{ErrorCode::kDeadlineExceeded, "too late"}, {}, {}}});

  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(
      chunks[2],
      R"({"error":{"message":"too late","type":"server_error","param":null,"code":"deadline_exceeded"}})");
}

TEST(ChatWriterTest, CollectorJoinsWhatTheStreamSends) {
  ResultCollector collector(2, 1);
  for (GenerationEvent event : std::vector<GenerationEvent>{
           RequestStarted{}, delta(1, "b", 1), delta(0, "a", 2), delta(1, "B", 3),
           ChoiceFinished{1, FinishReason::kLength}, ChoiceFinished{0, FinishReason::kStop}}) {
    collector.add(std::move(event));
  }
  EXPECT_FALSE(collector.is_complete());
  collector.add(
      RequestFinished{.usage = {.prompt_tokens = 1, .completion_tokens = 3}, .receipt = {}});

  EXPECT_TRUE(collector.is_complete());
  const GenerationResult& result = collector.result();
  EXPECT_EQ(result.choices[0].text, "a");
  EXPECT_EQ(result.choices[1].text, "bB");
  EXPECT_EQ(result.choices[1].token_ids, (std::vector{TokenId{1}, TokenId{3}}));
  EXPECT_EQ(result.choices[1].finish_reason, FinishReason::kLength);
  EXPECT_EQ(result.usage.completion_tokens, 3);
}

}  // namespace
}  // namespace paceline::openai
