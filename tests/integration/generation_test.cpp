#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <vector>

#include "tests/integration/service_fixture.h"
#include "tests/support/http_client.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kStream = R"(,"stream":true)";

HttpReply chat(const ServiceFixture& fixture, std::string_view content,
               std::string_view fields = "") {
  return fetch(fixture.port(), "POST", "/v1/chat/completions", chat_body(content, fields));
}

TEST(ChatTest, AnswerIsTheModelsText) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");

  const HttpReply reply = chat(fixture, "Hi");

  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_TRUE(reply.has_header("openai-processing-ms"));
  EXPECT_THAT(reply.body, AllOf(StartsWith("{\"id\":\"chatcmpl-"), HasSubstr("\"model\":\"tiny\""),
                                HasSubstr("\"content\":\"Hello there\""),
                                HasSubstr("\"finish_reason\":\"stop\"")));
}

TEST(ChatTest, AliasAnswersWithTheCanonicalName) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  const HttpReply reply = fetch(fixture.port(), "POST", "/v1/chat/completions",
                                R"({"model":"small","messages":[{"role":"user","content":"Hi"}]})");

  EXPECT_THAT(reply.body, HasSubstr("\"model\":\"tiny\""));
}

TEST(ChatTest, StreamHasTheHeadOfServerSentEventsAndOneEventPerChunk) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");
  RawConnection connection(fixture.port());
  connection.send(make_request("POST", "/v1/chat/completions", chat_body("Hi", kStream),
                               "Accept-Encoding: gzip\r\n"));

  const HttpReply reply = read_reply(connection);

  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "text/event-stream");
  EXPECT_EQ(reply.header("cache-control"), "no-cache");
  EXPECT_EQ(reply.header("x-accel-buffering"), "no");
  EXPECT_EQ(reply.header("transfer-encoding"), "chunked");
  EXPECT_FALSE(reply.has_header("content-length"));
  EXPECT_FALSE(reply.has_header("content-encoding"));
  EXPECT_TRUE(reply.is_complete);
  EXPECT_EQ(reply.events().size(), reply.chunks.size());
  EXPECT_THAT(reply.chunks, Each(AllOf(StartsWith("data: "), testing::EndsWith("\n\n"))));
  EXPECT_EQ(reply.chunks.back(), "data: [DONE]\n\n");
  EXPECT_EQ(joined_content(reply.events()), "Hello there");
}

TEST(ChatTest, UsageChunkComesOnlyWhenAskedFor) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");

  const auto without = chat(fixture, "Hi", kStream).events();
  const auto with =
      chat(fixture, "Hi", R"(,"stream":true,"stream_options":{"include_usage":true})").events();
  const HttpReply refused =
      chat(fixture, "Hi", R"(,"stream":false,"stream_options":{"include_usage":true})");

  EXPECT_THAT(without, Each(Not(HasSubstr("usage"))));
  EXPECT_THAT(without, Each(Not(HasSubstr("\"choices\":[]"))));
  ASSERT_EQ(with.size(), without.size() + 1);
  EXPECT_THAT(with[with.size() - 2], HasSubstr("\"choices\":[]"));
  const auto prompt_tokens = std::to_string(fixture.chat_prompt("Hi").size());
  EXPECT_THAT(with[with.size() - 2], HasSubstr("\"prompt_tokens\":" + prompt_tokens));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("\"param\":\"stream_options\""));
}

TEST(ChatTest, EnvelopeIsConstantOverAStream) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");

  auto events = chat(fixture, "Hi", kStream).events();
  ASSERT_EQ(events.back(), "[DONE]");
  events.pop_back();

  const std::string head = events.front().substr(0, events.front().find("\"choices\""));
  EXPECT_THAT(head, HasSubstr("\"object\":\"chat.completion.chunk\""));
  EXPECT_THAT(events, Each(StartsWith(head)));
  EXPECT_THAT(events.front(), HasSubstr("\"role\":\"assistant\""));
  EXPECT_THAT(std::vector(events.begin() + 1, events.end()), Each(Not(HasSubstr("\"role\""))));
  EXPECT_THAT(events.back(),
              AllOf(HasSubstr("\"delta\":{}"), HasSubstr("\"finish_reason\":\"stop\"")));
  events.pop_back();
  EXPECT_THAT(events, Each(HasSubstr("\"finish_reason\":null")));
}

TEST(ChatTest, SeveralChoicesAreNumberedAndEndOnce) {
  ServiceFixture fixture;
  const std::string_view fields = R"(,"n":3,"max_tokens":5)";
  const HttpReply whole = chat(fixture, "Hi", fields);
  const auto events = chat(fixture, "Hi", R"(,"n":3,"max_tokens":5,"stream":true)").events();

  const auto count = [&events](std::string_view text) {
    return std::count_if(events.begin(), events.end(), [text](const std::string& event) {
      return event.find(text) != std::string::npos;
    });
  };
  EXPECT_EQ(whole.status, 200);
  EXPECT_THAT(whole.body, HasSubstr("\"completion_tokens\":15"));
  EXPECT_THAT(whole.body,
              HasSubstr("\"prompt_tokens\":" + std::to_string(fixture.chat_prompt("Hi").size())));
  EXPECT_EQ(count("\"finish_reason\":\"length\""), 3);
  EXPECT_EQ(count("\"index\":2,\"delta\":{\"role\":\"assistant\""), 1);
  EXPECT_EQ(count("[DONE]"), 1);
}

TEST(ChatTest, Http10StreamEndsWithTheConnection) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  const std::string body = chat_body("Hi", kStream);
  RawConnection connection(fixture.port());
  connection.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);

  const HttpReply reply = read_reply(connection);

  EXPECT_FALSE(reply.has_header("transfer-encoding"));
  EXPECT_EQ(reply.events().back(), "[DONE]");
  EXPECT_EQ(joined_content(reply.events()), "Hello");
}

TEST(ChatTest, ErrorsFoundBeforeTheFirstTokenArePlainAnswersOnALivingConnection) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  RawConnection connection(fixture.port());
  struct Case {
    std::string body;
    int status;
    const char* code;
  };
  for (
      const auto& [body, status, code] :
      {Case{chat_body("Hi", R"(,"stream":true,"n":0)"), 400, "invalid_value"},
       Case{
           R"({"model":"tiny","stream":true,"temperature":-1,"messages":[{"role":"user","content":"a"}]})",
           400, "invalid_value"},
       Case{R"({"model":"nope","stream":true,"messages":[{"role":"user","content":"a"}]})", 404,
            "model_not_found"},
       Case{chat_body(std::string(5000, 'a'), kStream), 400, "context_length_exceeded"},
       Case{chat_body("\\ud800", kStream), 400, "invalid_json"},
       Case{chat_body("\xE6\xAD", kStream), 400, "invalid_json"},
       Case{"{\"stream\":true", 400, "invalid_json"}, Case{"", 400, "invalid_json"}}) {
    connection.send(make_request("POST", "/v1/chat/completions", body));
    const HttpReply reply = read_reply(connection);

    EXPECT_EQ(reply.status, status) << body.substr(0, 80);
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_THAT(reply.body, HasSubstr("\"code\":\"" + std::string(code) + "\""));
  }
  connection.send(chat_request("Hi"));
  EXPECT_THAT(read_reply(connection).body, HasSubstr("\"content\":\"Hello\""));
}

TEST(ChatTest, NameOfAnUnknownModelIsEscaped) {
  ServiceFixture fixture;

  const HttpReply reply =
      fetch(fixture.port(), "POST", "/v1/chat/completions",
            R"({"model":"\"},\n\"x","messages":[{"role":"user","content":"a"}]})");

  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr(R"('\"},\n\"x')"));
}

TEST(ChatTest, TooLongPromptIsRefusedWithBothNumbersAndUsesNoBlock) {
  ServiceFixture fixture;
  std::string ids = "[1";
  for (int i = 1; i < 5000; ++i) ids += ",1";
  ids += "]";
  for (const char* stream : {"false", "true"}) {
    const HttpReply reply =
        fetch(fixture.port(), "POST", "/v1/completions",
              R"({"model":"tiny","prompt":)" + ids + R"(,"stream":)" + std::string(stream) + "}");

    EXPECT_EQ(reply.status, 400);
    EXPECT_THAT(reply.body,
                AllOf(HasSubstr("\"code\":\"context_length_exceeded\""),
                      HasSubstr("\"param\":\"prompt\""), HasSubstr("4096"), HasSubstr("5000")));
  }
  EXPECT_EQ(fixture.engine().snapshot()->steps, 0U);
  EXPECT_EQ(fixture.metric("paceline_requests_rejected_total{reason=\"context_length\"}"), 2);
}

TEST(ChatTest, LargeBodyIsAnsweredAboutItsLength) {
  ServiceFixture fixture;

  const HttpReply reply = chat(fixture, std::string(3000000, 'a'));

  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, AllOf(HasSubstr("context_length_exceeded"), HasSubstr("more than 4096")));
}

TEST(ChatTest, PromptThatNeverFitsThePoolIsRefused) {
  ServiceFixture::Options options;
  options.scheduler.num_blocks = 64;
  ServiceFixture fixture(options);

  const HttpReply reply = chat(fixture, std::string(1500, 'a'));

  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("\"code\":\"kv_capacity_exceeded\""));
}

TEST(ChatTest, CapIsWhatWasAskedOrWhatIsLeft) {
  ServiceFixture::Options options;
  options.scheduler.max_context = 512;
  ServiceFixture fixture(options);
  const auto tokens = [&fixture](std::string_view fields) {
    const HttpReply reply = chat(fixture, "Hi", fields);
    EXPECT_THAT(reply.body, HasSubstr("\"finish_reason\":\"length\""));
    const std::size_t key = reply.body.find("\"completion_tokens\":");
    return std::stoi(reply.body.substr(key + 20));
  };
  const int room = 512 - static_cast<int>(fixture.chat_prompt("Hi").size());

  EXPECT_EQ(tokens(R"(,"max_tokens":1)"), 1);
  EXPECT_EQ(tokens(R"(,"max_completion_tokens":2,"max_tokens":5)"), 2);
  EXPECT_EQ(tokens(R"(,"max_tokens":null)"), room);
  EXPECT_EQ(tokens(""), room);
  EXPECT_EQ(tokens(R"(,"max_tokens":100000)"), room);
}

TEST(ChatTest, WrongCapsAreRefusedByName) {
  ServiceFixture fixture;
  for (const char* value : {"0", "-1", "\"10\"", "1.5", "1e400", "18446744073709551616"}) {
    const HttpReply reply = chat(fixture, "Hi", ",\"max_tokens\":" + std::string(value));

    EXPECT_EQ(reply.status, 400) << value;
    EXPECT_THAT(reply.body, HasSubstr("\"param\":\"max_tokens\"")) << value;
  }
}

TEST(ChatTest, StopValues) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello END more");
  const auto content_of = [&fixture](std::string_view stop) {
    return chat(fixture, "Hi", ",\"stop\":" + std::string(stop)).body;
  };

  EXPECT_THAT(content_of("null"), HasSubstr("\"content\":\"Hello END more\""));
  EXPECT_THAT(content_of("[]"), HasSubstr("\"content\":\"Hello END more\""));
  EXPECT_THAT(content_of("\"END\""), HasSubstr("\"content\":\"Hello \""));
  EXPECT_THAT(content_of("[\"END\"]"), HasSubstr("\"content\":\"Hello \""));
  EXPECT_THAT(content_of("\"" + std::string(10000, 'x') + "\""),
              HasSubstr("\"content\":\"Hello END more\""));
  for (const char* stop : {"\"\"", "[\"\"]", "[\"a\",\"b\",\"c\",\"d\",\"e\"]", "[1]", "5"}) {
    EXPECT_THAT(content_of(stop), HasSubstr("\"param\":\"stop\"")) << stop;
  }
}

TEST(ChatTest, NullsEqualAbsence) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  std::string nulls;
  for (const char* field : {"top_p",
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
                            "tools",
                            "tool_choice",
                            "parallel_tool_calls",
                            "max_tokens",
                            "max_completion_tokens",
                            "user",
                            "metadata",
                            "service_tier",
                            "priority",
                            "timeout_ms",
                            "store",
                            "cache_salt"}) {
    nulls += ",\"" + std::string(field) + "\":null";
  }

  const HttpReply reply = chat(fixture, "Hi", nulls);

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"content\":\"Hello\""));
}

TEST(ChatTest, UnknownFieldsAreNamedInTheAnswerOrRefusedWhenStrict) {
  ServiceFixture fixture;
  ServiceFixture::Options options;
  options.http.strict_fields = true;
  ServiceFixture strict(options);

  const HttpReply reply = chat(fixture, "Hi", R"(,"max_tokens":1,"foo":{"a":[1]},"bar":1)");
  const HttpReply refused = chat(strict, "Hi", R"(,"max_tokens":1,"foo":1)");

  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("x-paceline-ignored"), "foo,bar");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("\"code\":\"unknown_parameter\""));
}

TEST(ChatTest, BetterPriorityThanAllowedIsClampedAndReported) {
  ServiceFixture fixture;

  EXPECT_EQ(chat(fixture, "Hi", R"(,"max_tokens":1,"priority":-5)").header("x-paceline-priority"),
            "0");
  EXPECT_FALSE(
      chat(fixture, "Hi", R"(,"max_tokens":1,"priority":5)").has_header("x-paceline-priority"));
}

TEST(ChatTest, FailedStepIsAPlainErrorBeforeTheFirstEvent) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  fixture.runner().fail_next(ScriptedModelRunner::Failure::kError);

  const HttpReply failed = chat(fixture, "Hi", kStream);
  const HttpReply next = chat(fixture, "Hi");

  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("\"code\":\"engine_error\""));
  EXPECT_THAT(next.body, HasSubstr("\"content\":\"Hello\""));
}

TEST(ChatTest, FailureAfterTheHeadEndsTheStreamProperly) {
  ServiceFixture fixture;
  fixture.runner().hold();
  RawConnection connection(fixture.port());
  connection.send(chat_request("Hi", kStream));
  ASSERT_TRUE(fixture.runner().wait_until_held());
  fixture.runner().release();
  ASSERT_TRUE(connection.read_until("\"role\":\"assistant\""));
  fixture.runner().fail_next(ScriptedModelRunner::Failure::kError);

  const HttpReply reply = read_reply(connection);

  EXPECT_EQ(reply.status, 200);
  ASSERT_TRUE(reply.is_complete);
  const auto events = reply.events();
  ASSERT_GE(events.size(), 3U);
  EXPECT_THAT(events[events.size() - 2],
              AllOf(StartsWith("{\"error\":{"), HasSubstr("\"code\":\"engine_error\"")));
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_THAT(std::vector(events.begin(), events.end() - 2),
              Each(HasSubstr("\"finish_reason\":null")));
}

TEST(CompletionsTest, TextFollowsAPrompt) {
  ServiceFixture fixture;
  fixture.runner().script({TokenId{65}, TokenId{66}}, {TokenId{67}});

  const HttpReply reply = fetch(fixture.port(), "POST", "/v1/completions",
                                R"({"model":"tiny","prompt":"AB","temperature":0,"echo":true})");

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, AllOf(StartsWith("{\"id\":\"cmpl-"), HasSubstr("\"text\":\"ABC\""),
                                HasSubstr("\"prompt_tokens\":2")));
}

TEST(CompletionsTest, PromptsOfDifferentLengthEachHaveTheirOwnRoom) {
  ServiceFixture::Options options;
  options.scheduler.max_context = 64;
  ServiceFixture fixture(options);

  const HttpReply reply = fetch(fixture.port(), "POST", "/v1/completions",
                                R"({"model":"tiny","prompt":["A",")" + std::string(60, 'B') +
                                    R"("],"temperature":0,"max_tokens":1000})");

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"completion_tokens\":" + std::to_string(63 + 4)));
}

TEST(CompletionsTest, NoTokensAreMadeWhenNoneAreAskedFor) {
  ServiceFixture fixture;

  const HttpReply reply = fetch(fixture.port(), "POST", "/v1/completions",
                                R"({"model":"tiny","prompt":"AB","max_tokens":0})");

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body,
              AllOf(HasSubstr("\"text\":\"\""), HasSubstr("\"finish_reason\":\"length\""),
                    HasSubstr("\"completion_tokens\":0")));
}

TEST(TokenEndpointsTest, TokenizeAndDetokenizeAreInverse) {
  ServiceFixture fixture;

  const HttpReply tokens = fetch(fixture.port(), "POST", "/tokenize", R"({"prompt":"Hello!"})");
  const HttpReply text = fetch(fixture.port(), "POST", "/detokenize", R"({"tokens":[259,33]})");
  const HttpReply prompt =
      fetch(fixture.port(), "POST", "/apply-template",
            R"({"messages":[{"role":"user","content":"Hi"}],"add_generation_prompt":false})");

  EXPECT_EQ(tokens.body, R"({"tokens":[259,33],"count":2,"max_model_len":4096,"token_strs":null})");
  EXPECT_EQ(text.body, R"({"prompt":"Hello!"})");
  EXPECT_THAT(prompt.body, HasSubstr("<|im_start|>user\\nHi<|im_end|>"));
}

TEST(ModelsTest, AliasesAreEntriesOfTheirOwn) {
  ServiceFixture fixture;

  const HttpReply list = fetch(fixture.port(), "GET", "/v1/models");
  const HttpReply one = fetch(fixture.port(), "GET", "/v1/models/small");

  EXPECT_THAT(list.body, AllOf(HasSubstr("\"id\":\"tiny\""), HasSubstr("\"id\":\"small\"")));
  EXPECT_THAT(one.body, AllOf(HasSubstr("\"id\":\"small\""), HasSubstr("\"root\":\"tiny\"")));
  EXPECT_EQ(fetch(fixture.port(), "GET", "/v1/models/nope").status, 404);
}

TEST(AccessLogTest, GenerationIsLoggedWithItsFiguresAndWithoutItsText) {
  ServiceFixture fixture;
  fixture.script_chat("secret question", "secret answer");
  chat(fixture, "secret question", R"(,"user":"someone")");

  ASSERT_TRUE(ServiceFixture::eventually([&] { return !fixture.log_lines().empty(); }));
  const std::string line = fixture.log_lines().front();
  EXPECT_THAT(line,
              AllOf(HasSubstr("\"api\":\"chat\",\"transport\":\"http\""),
                    HasSubstr("\"model\":\"tiny\""), HasSubstr("\"finish_reason\":[\"stop\"]"),
                    HasSubstr("\"object_id\":\"chatcmpl-"), HasSubstr("\"completion_tokens\":13"),
                    Not(HasSubstr("secret")), Not(HasSubstr("someone"))));
}

}  // namespace
}  // namespace paceline
