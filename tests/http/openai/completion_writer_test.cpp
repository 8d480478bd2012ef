#include "http/openai/completion_writer.h"

#include <gtest/gtest.h>

#include "http/openai/json_document.h"

namespace paceline::openai {
namespace {

const AnswerIdentity kIdentity{.id = "cmpl-1",
                               .created = 1790000000,
                               .model = "m",
                               .system_fingerprint = "fp_1",
                               .service_tier = ""};
constexpr std::string_view kHead =
    R"({"id":"cmpl-1","object":"text_completion","created":1790000000,"model":"m","system_fingerprint":"fp_1","choices":[)";

TokenLogprobText token(std::string bytes, float logprob, std::vector<LogprobText> top = {}) {
  return {.chosen = {std::move(bytes), logprob}, .top = std::move(top)};
}

const std::vector<PromptText> kPrompts{
    {.text = "Hi", .ids = {TokenId{1}}, .first_token = "Hi"},
    {.text = "é!", .ids = {TokenId{2}, TokenId{3}}, .first_token = "é"}};

std::vector<std::string> chunks_of(const AnswerOptions& options, bool echo, int num_choices,
                                   const std::vector<GenerationEvent>& events) {
  CompletionStreamWriter writer(kIdentity, options, echo, num_choices, kPrompts);
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

TEST(LegacyLogprobsTest, OffsetsCountCodePoints) {
  LegacyLogprobs logprobs;
  logprobs.add_unscored("aé");
  logprobs.add(token("🫠", -1.0F, {{"🫠", -1.0F}, {"x", -2.0F}}));
  std::string first;
  logprobs.flush(first);
  logprobs.add(token("b", -0.5F));
  std::string second;
  logprobs.flush(second);

  EXPECT_EQ(
      first,
      R"({"tokens":["aé","🫠"],"token_logprobs":[null,-1],"top_logprobs":[null,{"🫠":-1,"x":-2}],"text_offset":[0,2]})");
  EXPECT_EQ(
      second,
      R"({"tokens":["b"],"token_logprobs":[-0.5],"top_logprobs":[{"b":-0.5}],"text_offset":[3]})");
  EXPECT_TRUE(logprobs.is_empty());
}

TEST(LegacyLogprobsTest, SameTextAppearsOnceAmongTheBest) {
  LegacyLogprobs logprobs;
  logprobs.add(token("\xE6", -3.0F, {{"\xE7", -1.0F}, {"\xE8", -2.0F}}));
  std::string out;
  logprobs.flush(out);

  EXPECT_TRUE(JsonDocument::parse_object(out)) << out;
  EXPECT_NE(out.find("\"top_logprobs\":[{\"\xEF\xBF\xBD\":-1}]"), std::string::npos) << out;
}

TEST(CompletionWriterTest, BodyHasTheShapeOfTheContract) {
  GenerationResult result;
  result.choices = {{.text = " world", .token_ids = {}, .logprobs = {token(" world", -1.2F)}}};
  result.prompt_logprobs.resize(1);
  result.usage = {.prompt_tokens = 1, .cached_tokens = 0, .completion_tokens = 1};

  EXPECT_EQ(
      write_completion(kIdentity, {.logprobs = true}, false, result, std::span(kPrompts).first(1)),
      R"({"id":"cmpl-1","object":"text_completion","created":1790000000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"text":" world","logprobs":{"tokens":[" world"],"token_logprobs":[-1.2],"top_logprobs":[{" world":-1.2}],"text_offset":[0]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}})");
}

TEST(CompletionWriterTest, ChoicesAreNumberedPromptMajorAndEchoTheirPrompt) {
  GenerationResult result;
  for (const char* text : {"a", "b", "c", "d"})
    result.choices.push_back({.text = text, .token_ids = {}, .logprobs = {}});
  result.prompt_logprobs = {{}, {token("!", -2.0F)}};

  const std::string body = write_completion(kIdentity, {.logprobs = true, .return_token_ids = true},
                                            true, result, kPrompts);

  EXPECT_NE(body.find(R"({"index":1,"text":"Hib")"), std::string::npos) << body;
  EXPECT_NE(
      body.find(
          R"({"index":2,"text":"é!c","logprobs":{"tokens":["é","!"],"token_logprobs":[null,-2],"top_logprobs":[null,{"!":-2}],"text_offset":[0,1]},"finish_reason":"stop","prompt_token_ids":[2,3],"token_ids":[]})"),
      std::string::npos)
      << body;
}

TEST(CompletionWriterTest, StreamHasTextAndAnEmptyFinishChunk) {
  const auto chunks = chunks_of(
      {}, false, 2,
      {RequestStarted{}, ChoiceDelta{.index = 1, .text = "x", .token_ids = {}, .logprobs = {}},
       ChoiceFinished{1, FinishReason::kStop}, ChoiceFinished{0, FinishReason::kLength},
       RequestFinished{}});

  const std::vector<std::string> expected{
      R"({"index":1,"text":"x","logprobs":null,"finish_reason":null}]})",
      R"({"index":1,"text":"","logprobs":null,"finish_reason":"stop"}]})",
      R"({"index":0,"text":"","logprobs":null,"finish_reason":"length"}]})"};
  EXPECT_EQ(chunks, expected);
}

TEST(CompletionWriterTest, StreamedEchoComesFirstAndOffsetsGoOn) {
  const ChoiceDelta delta{.index = 1,
                          .text = "z",
                          .token_ids = {TokenId{9}},
                          .logprobs = {token("z", -1.0F)},
                          .completion_tokens = 1};
  const auto chunks = chunks_of(
      {.logprobs = true, .return_token_ids = true}, true, 2,
      {RequestStarted{}, PromptLogprobs{1, {token("!", -2.0F)}}, delta,
       ChoiceFinished{1, FinishReason::kLength}, ChoiceFinished{0, FinishReason::kLength}});

  const std::vector<std::string> expected{
      R"({"index":1,"text":"é!","logprobs":{"tokens":["é","!"],"token_logprobs":[null,-2],"top_logprobs":[null,{"!":-2}],"text_offset":[0,1]},"finish_reason":null,"prompt_token_ids":[2,3],"token_ids":[]}]})",
      R"({"index":1,"text":"z","logprobs":{"tokens":["z"],"token_logprobs":[-1],"top_logprobs":[{"z":-1}],"text_offset":[2]},"finish_reason":null,"token_ids":[9]}]})",
      R"({"index":1,"text":"","logprobs":null,"finish_reason":"length","token_ids":[]}]})",
      R"({"index":0,"text":"Hi","logprobs":{"tokens":["Hi"],"token_logprobs":[null],"top_logprobs":[null],"text_offset":[0]},"finish_reason":null,"prompt_token_ids":[1],"token_ids":[]}]})",
      R"({"index":0,"text":"","logprobs":null,"finish_reason":"length","token_ids":[]}]})"};
  EXPECT_EQ(chunks, expected);
}

TEST(CompletionWriterTest, UsageChunkComesLast) {
  const auto chunks = chunks_of({.include_usage = true}, false, 2,
                                {RequestStarted{}, ChoiceFinished{0, FinishReason::kStop},
                                 RequestFinished{.usage = {.prompt_tokens = 2}, .receipt = {}}});

  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_NE(chunks[0].find("],\"usage\":null}"), std::string::npos);
  EXPECT_EQ(
      chunks[1],
      R"(],"usage":{"prompt_tokens":2,"completion_tokens":0,"total_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}})");
}

}  // namespace
}  // namespace paceline::openai
