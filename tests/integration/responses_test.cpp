#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/service_fixture.h"
#include "tests/support/http_client.h"
#include "tests/support/websocket_client.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string response_body(std::string_view input, std::string_view fields = "") {
  return R"({"model":"tiny","input":")" + std::string(input) + R"(","temperature":0)" +
         std::string(fields) + "}";
}

HttpReply create(const ServiceFixture& fixture, std::string_view input,
                 std::string_view fields = "") {
  return fetch(fixture.port(), "POST", "/v1/responses", response_body(input, fields));
}

HttpReply call(const ServiceFixture& fixture, std::string_view method, const std::string& id,
               std::string_view suffix = "") {
  return fetch(fixture.port(), method, "/v1/responses/" + id + std::string(suffix));
}

/// Id of the response whose beginning a streaming connection has received.
std::string begun_id(RawConnection& connection) {
  if (!connection.read_until("response.created") || !connection.read_until("\"object\"")) return "";
  return string_member(connection.received(), "id");
}

TEST(ResponsesTest, AnswerIsStoredUntilItIsDeleted) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");

  const HttpReply made = create(fixture, "Hi", R"(,"metadata":{"a":"b"},"foo":1)");
  const std::string id = string_member(made.body, "id");
  const HttpReply got = call(fixture, "GET", id);
  const HttpReply deleted = call(fixture, "DELETE", id);

  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(made.header("x-paceline-ignored"), "foo");
  EXPECT_THAT(made.body, AllOf(StartsWith("{\"id\":\"resp_"), HasSubstr("\"status\":\"completed\""),
                               HasSubstr("\"text\":\"Hello there\""),
                               HasSubstr("\"metadata\":{\"a\":\"b\"}")));
  EXPECT_EQ(got.body, made.body);
  EXPECT_EQ(deleted.body, R"({"id":")" + id + R"(","object":"response","deleted":true})");
  EXPECT_EQ(call(fixture, "GET", id).status, 404);
  EXPECT_EQ(call(fixture, "DELETE", id).status, 404);
  EXPECT_EQ(fixture.metric("paceline_stored_responses"), 0);
  EXPECT_EQ(fixture.metric("paceline_stored_response_bytes"), 0);
}

TEST(ResponsesTest, UnstoredResponseIsNotSeenAgain) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");

  const std::string id = string_member(create(fixture, "Hi", R"(,"store":false)").body, "id");

  EXPECT_THAT(call(fixture, "GET", id).body, HasSubstr("response_not_found"));
  EXPECT_THAT(create(fixture, "x", R"(,"previous_response_id":")" + id + "\"").body,
              HasSubstr("previous_response_not_found"));
}

TEST(ResponsesTest, StreamHasTypedEventsAndEndsWithDone) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");

  const HttpReply reply = create(fixture, "Hi", R"(,"stream":true)");

  EXPECT_EQ(reply.header("content-type"), "text/event-stream");
  EXPECT_THAT(reply.chunks.front(), StartsWith("event: response.created\ndata: {\"type\":"));
  EXPECT_EQ(reply.chunks.back(), "data: [DONE]\n\n");
  auto events = reply.events();
  events.pop_back();
  EXPECT_EQ(joined_deltas(events), "Hello there");
  EXPECT_EQ(types_of(events).back(), "response.completed");
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_THAT(events[i], HasSubstr("\"sequence_number\":" + std::to_string(i)));
  }
}

TEST(ResponsesTest, PreviousResponseGivesTheWholeConversation) {
  ServiceFixture fixture;
  fixture.script_chat("one", "first");
  const HttpReply first = create(fixture, "one", R"(,"instructions":"only now")");
  ASSERT_THAT(first.body, HasSubstr("\"instructions\":\"only now\""));
  const HttpReply plain_first = create(fixture, "one");
  const std::string id = string_member(plain_first.body, "id");

  const HttpReply second = create(
      fixture, "two",
      R"(,"max_output_tokens":1,"return_token_ids":true,"previous_response_id":")" + id + "\"");
  const HttpReply inline_form = fetch(
      fixture.port(), "POST", "/v1/responses",
      R"({"model":"tiny","temperature":0,"max_output_tokens":1,"return_token_ids":true,"input":[
          {"role":"user","content":"one"},{"role":"assistant","content":"first"},{"role":"user","content":"two"}]})");

  const auto prompt_of = [](const HttpReply& reply) {
    const std::size_t begin = reply.body.find("\"prompt_token_ids\"");
    return reply.body.substr(begin, reply.body.find(']', begin) - begin);
  };
  EXPECT_EQ(prompt_of(second), prompt_of(inline_form));
  EXPECT_THAT(second.body, HasSubstr("\"previous_response_id\":\"" + id + "\""));
}

TEST(ResponsesTest, RunningResponseIsSeenButNotContinued) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  fixture.runner().hold();
  RawConnection connection(fixture.port());
  connection.send(make_request("POST", "/v1/responses", response_body("Hi", R"(,"stream":true)")));
  const std::string id = begun_id(connection);
  ASSERT_FALSE(id.empty());

  const HttpReply seen = call(fixture, "GET", id);
  const HttpReply continued = create(fixture, "x", R"(,"previous_response_id":")" + id + "\"");
  fixture.runner().release();

  EXPECT_THAT(seen.body, testing::AnyOf(HasSubstr("\"status\":\"queued\""),
                                        HasSubstr("\"status\":\"in_progress\"")));
  EXPECT_THAT(seen.body, HasSubstr("\"usage\":null"));
  EXPECT_THAT(continued.body, HasSubstr("previous_response_in_progress"));
  EXPECT_TRUE(connection.read_until("[DONE]"));
}

TEST(ResponsesTest, CancelReturnsTheEndedResponse) {
  ServiceFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(
      make_request("POST", "/v1/responses",
                   response_body("endless", R"(,"stream":true,"max_output_tokens":3800)")));
  const std::string id = begun_id(connection);
  ASSERT_TRUE(connection.read_until("response.output_text.delta"));

  const HttpReply cancelled = call(fixture, "POST", id, "/cancel");
  const HttpReply again = call(fixture, "POST", id, "/cancel");

  EXPECT_EQ(cancelled.status, 200);
  EXPECT_THAT(cancelled.body,
              AllOf(HasSubstr("\"status\":\"cancelled\""), HasSubstr("\"reason\":\"cancelled\"")));
  EXPECT_EQ(again.body, cancelled.body);
  EXPECT_TRUE(connection.read_until("response.incomplete"));
  EXPECT_TRUE(connection.read_until("[DONE]"));
  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_EQ(call(fixture, "POST", "resp_unknown", "/cancel").status, 404);
}

TEST(ResponsesTest, WaitingCallGetsTheCancelledResponse) {
  ServiceFixture fixture;
  fixture.runner().hold();
  RawConnection connection(fixture.port());
  connection.send(make_request("POST", "/v1/responses",
                               response_body("endless", R"(,"max_output_tokens":3800)")));
  ASSERT_TRUE(fixture.runner().wait_until_held());

  const RequestId request{raw(fixture.engine().next_request_id()) - 1};
  fixture.engine().cancel(request, CancelCause::kAdmin);
  fixture.runner().release();
  const HttpReply reply = read_reply(connection);

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"status\":\"cancelled\""));
}

TEST(ResponsesTest, ClientThatLeavesCancelsItsResponse) {
  ServiceFixture fixture;
  std::string id;
  {
    RawConnection connection(fixture.port());
    connection.send(
        make_request("POST", "/v1/responses",
                     response_body("endless", R"(,"stream":true,"max_output_tokens":3800)")));
    id = begun_id(connection);
    ASSERT_TRUE(connection.read_until("response.output_text.delta"));
  }

  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_TRUE(ServiceFixture::eventually([&] {
    return call(fixture, "GET", id).body.find("\"status\":\"cancelled\"") != std::string::npos;
  }));
}

TEST(ResponsesTest, FailureIsAPlainErrorOrTheLastEvent) {
  ServiceFixture fixture;
  fixture.runner().fail_next(ScriptedModelRunner::Failure::kError);
  const HttpReply whole = create(fixture, "Hi");

  RawConnection connection(fixture.port());
  connection.send(
      make_request("POST", "/v1/responses",
                   response_body("endless", R"(,"stream":true,"max_output_tokens":3800)")));
  ASSERT_TRUE(connection.read_until("response.output_text.delta"));
  fixture.runner().fail_next(ScriptedModelRunner::Failure::kError);
  const bool failed = connection.read_until("response.failed");
  const bool done = connection.read_until("[DONE]");

  EXPECT_EQ(whole.status, 500);
  EXPECT_THAT(whole.body, HasSubstr("engine_error"));
  EXPECT_TRUE(failed);
  EXPECT_TRUE(done);
}

TEST(ResponsesTest, InputTokensCountTheFullPrompt) {
  ServiceFixture fixture;
  const auto count = [&fixture](const std::string& body) {
    return fetch(fixture.port(), "POST", "/v1/responses/input_tokens", body).body;
  };

  EXPECT_EQ(count(R"({"model":"tiny","input":"Hi"})"),
            R"({"object":"response.input_tokens","input_tokens":)" +
                std::to_string(fixture.chat_prompt("Hi").size()) + "}");
  EXPECT_THAT(count(R"({"model":"tiny","input":")" + std::string(9000, 'w') + "\"}"),
              HasSubstr("\"input_tokens\":90"));
  EXPECT_THAT(count(R"({"model":"nope","input":"Hi"})"), HasSubstr("model_not_found"));
}

TEST(ResponsesTest, GetTakesNoStreamParameters) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  const std::string id = string_member(create(fixture, "Hi").body, "id");

  EXPECT_THAT(call(fixture, "GET", id, "?stream=true").body, HasSubstr("\"param\":\"stream\""));
  EXPECT_EQ(call(fixture, "GET", id, "?x=1&starting_after=3").status, 400);
  EXPECT_EQ(call(fixture, "GET", id, "?x=1").status, 200);
}

TEST(ResponsesTest, ErrorsBeforeTheFirstEventArePlainAnswers) {
  ServiceFixture fixture;
  const struct {
    std::string body;
    int status;
    std::string code;
  } rows[] = {
      {response_body("x", R"(,"stream":true,"temperature":-1)"), 400, "duplicate"},
      {response_body("x", R"(,"stream":true,"top_p":-1)"), 400, "invalid_value"},
      {R"({"model":"nope","input":"x","stream":true})", 404, "model_not_found"},
      {response_body(std::string(9000, 'w'), R"(,"stream":true)"), 400, "context_length_exceeded"},
      {response_body("x", R"(,"stream":true,"previous_response_id":"resp_x")"), 400,
       "previous_response_not_found"},
      {R"({"model":"tiny","input":[{"type":"function_call_output","call_id":"c","output":"x"}]})",
       400, "input[0].call_id"},
  };
  for (const auto& row : rows) {
    const HttpReply reply = fetch(fixture.port(), "POST", "/v1/responses", row.body);
    EXPECT_EQ(reply.status, row.status) << row.body;
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_THAT(reply.body, HasSubstr(row.code));
  }
}

TEST(ResponsesTest, StoreKeepsTheNewest) {
  ServiceFixture::Options options;
  options.http.responses.max_stored = 2;
  ServiceFixture fixture(options);
  fixture.script_chat("Hi", "Hello");
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(string_member(create(fixture, "Hi").body, "id"));

  EXPECT_EQ(call(fixture, "GET", ids[0]).status, 404);
  EXPECT_EQ(call(fixture, "GET", ids[1]).status, 200);
  EXPECT_EQ(call(fixture, "GET", ids[2]).status, 200);
  EXPECT_EQ(fixture.metric(R"(paceline_stored_responses_evicted_total{cause="count"})"), 1);
}

}  // namespace
}  // namespace paceline
