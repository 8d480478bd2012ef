#include "http/openai/response_events.h"

#include <gtest/gtest.h>

#include "http/openai/json_document.h"
#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

constexpr std::int64_t kNow = 1790000001;

ResponseObject new_response(std::string_view fields = R"("input":"Hi")") {
  const auto request =
      parse_response_request(R"({"model":"m",)" + std::string(fields) + "}", test_context());
  ResponseObject response;
  response.id = "resp_1";
  response.created_at = 1790000000;
  response.model = "m";
  response.echo = echo_members(*request);
  return response;
}

ChoiceDelta delta(std::string text, std::vector<TokenLogprobText> logprobs = {}) {
  return {.index = 0,
          .text = std::move(text),
          .token_ids = {TokenId{4}},
          .logprobs = std::move(logprobs),
          .completion_tokens = 1};
}

/// A response and the events it has sent, each checked to be strict JSON with its type, its lane
/// and the next number.
class Recorder {
 public:
  explicit Recorder(ResponseEvents::Options options, ResponseObject response = new_response())
      : lane_(options.stream_id), events_(std::move(response), std::move(options)) {}

  ResponseEvents& events() { return events_; }
  void add(const GenerationEvent& event) {
    events_.write(event, kNow, [this](auto type, auto json) { record(type, json); });
  }
  void record(std::string_view type, std::string_view json) {
    const auto document = JsonDocument::parse_object(json);
    ASSERT_TRUE(document) << json;
    EXPECT_EQ(document->root().find("type")->text(), type);
    EXPECT_EQ(document->root().find("sequence_number")->to_int64(),
              static_cast<std::int64_t>(types.size()));
    const auto lane = document->root().find("stream_id");
    ASSERT_EQ(lane.has_value(), lane_.has_value());
    if (lane) {
      EXPECT_EQ(lane->text(), *lane_);
    }
    types.emplace_back(type);
    texts.emplace_back(json);
  }
  void created() {
    events_.created([this](auto type, auto json) { record(type, json); });
  }
  void queued(int position, std::optional<double> estimated_start_ms) {
    events_.queued(position, estimated_start_ms,
                   [this](auto type, auto json) { record(type, json); });
  }
  void fail(const Error& error) {
    events_.fail(error, kNow, [this](auto type, auto json) { record(type, json); });
  }

  std::vector<std::string> types;
  std::vector<std::string> texts;

 private:
  std::optional<std::string> lane_;
  ResponseEvents events_;
};

TEST(ResponseEventsTest, AnswerWithTextSendsTheListOfTheContract) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.created();
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(delta("."));
  recorder.add(ChoiceFinished{0, FinishReason::kStop});
  recorder.add(
      RequestFinished{.usage = {.prompt_tokens = 30, .completion_tokens = 3}, .receipt = {}});

  EXPECT_EQ(recorder.types,
            (std::vector<std::string>{"response.created", "response.in_progress",
                                      "response.output_item.added", "response.content_part.added",
                                      "response.output_text.delta", "response.output_text.delta",
                                      "response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.completed"}));
  EXPECT_EQ(
      recorder.texts[2],
      R"({"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}})");
  EXPECT_EQ(
      recorder.texts[3],
      R"({"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}})");
  EXPECT_EQ(
      recorder.texts[4],
      R"({"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hi","logprobs":[],"sequence_number":4})");
  EXPECT_EQ(
      recorder.texts[6],
      R"({"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"text":"Hi.","logprobs":[]})");
  EXPECT_EQ(
      recorder.texts[8],
      R"({"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi.","annotations":[],"logprobs":[]}]}})");
  EXPECT_TRUE(recorder.events().is_finished());
}

TEST(ResponseEventsTest, ObjectHasEveryKeyOfTheContract) {
  const std::string text = response_json(new_response());
  const auto document = JsonDocument::parse_object(text);
  ASSERT_TRUE(document) << text;

  for (const char* key : {"id",
                          "object",
                          "created_at",
                          "completed_at",
                          "status",
                          "error",
                          "incomplete_details",
                          "model",
                          "previous_response_id",
                          "instructions",
                          "output",
                          "tools",
                          "tool_choice",
                          "parallel_tool_calls",
                          "text",
                          "truncation",
                          "temperature",
                          "top_p",
                          "presence_penalty",
                          "frequency_penalty",
                          "top_logprobs",
                          "max_output_tokens",
                          "max_tool_calls",
                          "reasoning",
                          "store",
                          "background",
                          "service_tier",
                          "metadata",
                          "user",
                          "safety_identifier",
                          "prompt_cache_key",
                          "usage"}) {
    EXPECT_TRUE(document->root().find(key)) << key;
  }
  EXPECT_EQ(document->root().size(), 32U);
  EXPECT_TRUE(document->root().find("usage")->is_null());
}

TEST(ResponseEventsTest, ObjectRepeatsTheRequest) {
  const std::string text = response_json(new_response(
      R"("input":"x","instructions":"i","previous_response_id":"resp_0","temperature":0.5,"max_output_tokens":9,
         "tools":[{"type":"function","name":"f"}],"tool_choice":"none","metadata":{"a\"b":"c"},"store":false,
         "service_tier":"flex","user":"u","parallel_tool_calls":false)"));

  for (
      const char* part :
      {R"("previous_response_id":"resp_0","instructions":"i")",
       R"("tools":[{"type":"function","name":"f","description":null,"parameters":null,"strict":null}],"tool_choice":"none","parallel_tool_calls":false)",
       R"("temperature":0.5,"top_p":1,)", R"("max_output_tokens":9)", R"("store":false)",
       R"("service_tier":"flex","metadata":{"a\"b":"c"},"user":"u","safety_identifier":null)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(ResponseEventsTest, LengthMakesItIncomplete) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.created();
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(ChoiceFinished{0, FinishReason::kLength});
  recorder.add(RequestFinished{});

  EXPECT_EQ(recorder.types.back(), "response.incomplete");
  for (const char* part :
       {R"("status":"incomplete","error":null)",
        R"("incomplete_details":{"reason":"max_output_tokens"})",
        R"("id":"msg_1","status":"incomplete")", R"("completed_at":1790000001)"}) {
    EXPECT_NE(recorder.texts.back().find(part), std::string::npos) << part;
  }
}

TEST(ResponseEventsTest, AnswerWithoutTokensHasOneEmptyMessage) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.add(RequestStarted{});
  recorder.add(ChoiceFinished{0, FinishReason::kStop});
  recorder.add(RequestFinished{});

  EXPECT_EQ(recorder.types,
            (std::vector<std::string>{"response.in_progress", "response.output_item.added",
                                      "response.content_part.added", "response.output_text.done",
                                      "response.content_part.done", "response.output_item.done",
                                      "response.completed"}));
}

TEST(ResponseEventsTest, PrefillOnlyHasNoOutput) {
  Recorder recorder({.message_id = "msg_1", .has_output = false});
  recorder.add(RequestStarted{});
  recorder.add(ChoiceFinished{0, FinishReason::kLength});
  recorder.add(RequestFinished{});

  EXPECT_EQ(recorder.types,
            (std::vector<std::string>{"response.in_progress", "response.completed"}));
  EXPECT_NE(recorder.texts.back().find(R"("output":[])"), std::string::npos);
}

TEST(ResponseEventsTest, CancelClosesTheOpenItem) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(
      RequestFailed{{ErrorCode::kRequestCancelled, "cancelled"}, {.prompt_tokens = 3}, {}});

  EXPECT_EQ(recorder.types.back(), "response.incomplete");
  EXPECT_EQ(recorder.types[recorder.types.size() - 2], "response.output_item.done");
  for (const char* part :
       {R"("status":"cancelled","error":null,"incomplete_details":{"reason":"cancelled"})",
        R"("id":"msg_1","status":"incomplete")", R"("input_tokens":3)"}) {
    EXPECT_NE(recorder.texts.back().find(part), std::string::npos) << part;
  }
}

TEST(ResponseEventsTest, CancelBeforeTheStartEndsAtOnce) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.created();
  recorder.queued(2, 850.5);
  recorder.queued(1, std::nullopt);
  recorder.fail({ErrorCode::kRequestCancelled, "cancelled"});

  EXPECT_EQ(recorder.types, (std::vector<std::string>{"response.created", "response.queued",
                                                      "response.queued", "response.incomplete"}));
  EXPECT_NE(recorder.texts[1].find(R"("position":2,"estimated_start_ms":850.5,"response":{)"),
            std::string::npos);
  EXPECT_NE(recorder.texts[2].find(R"("position":1,"estimated_start_ms":null)"), std::string::npos);
}

TEST(ResponseEventsTest, FailureTellsCodeAndMessage) {
  Recorder recorder({.message_id = "msg_1"});
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(RequestFailed{{ErrorCode::kEngineError, "step failed"}, {.prompt_tokens = 3}, {}});

  EXPECT_EQ(recorder.types.back(), "response.failed");
  EXPECT_NE(recorder.texts.back().find(
                R"("status":"failed","error":{"code":"engine_error","message":"step failed"})"),
            std::string::npos);
}

TEST(ResponseEventsTest, EventsOfANamedLaneCarryIt) {
  Recorder recorder({.message_id = "msg_1", .stream_id = "a.1", .ignored = {"foo"}});
  recorder.created();
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(ChoiceFinished{0, FinishReason::kStop});
  recorder.add(RequestFinished{});

  EXPECT_NE(recorder.texts[0].find(R"("ignored":["foo"])"), std::string::npos);
  EXPECT_EQ(recorder.texts.size(), 9U);
}

TEST(ResponseEventsTest, LogprobsTravelWithTheTextTheyMade) {
  Recorder recorder({.message_id = "msg_1", .logprobs = true});
  recorder.add(RequestStarted{});
  recorder.add(delta("", {{.chosen = {"\xE9", -1.0F}, .top = {}}}));
  recorder.add(delta("é", {{.chosen = {"\xA9", -2.0F}, .top = {}}}));
  recorder.add(ChoiceFinished{0, FinishReason::kStop});
  recorder.add(RequestFinished{});

  EXPECT_NE(recorder.texts[3].find("\"logprob\":-1,\"bytes\":[233]"), std::string::npos);
  EXPECT_NE(recorder.texts[3].find("\"logprob\":-2,\"bytes\":[169]"), std::string::npos);
  EXPECT_NE(recorder.texts.back().find("\"bytes\":[233]"), std::string::npos);
}

TEST(ResponseEventsTest, IdsAndReceiptAppearWhenAsked) {
  ResponseObject response = new_response();
  response.return_token_ids = true;
  response.prompt_token_ids = {TokenId{1}, TokenId{2}};
  Recorder recorder({.message_id = "msg_1", .include_receipt = true}, std::move(response));
  recorder.add(RequestStarted{});
  recorder.add(delta("Hi"));
  recorder.add(ChoiceFinished{0, FinishReason::kStop});
  recorder.add(RequestFinished{.usage = {}, .receipt = {.queue_ms = 1.5}});

  EXPECT_NE(recorder.texts.back().find(R"("paceline":{"receipt":{"queue_ms":1.5)"),
            std::string::npos);
  EXPECT_NE(recorder.texts.back().find(R"("prompt_token_ids":[1,2],"output_token_ids":[4]})"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline::openai
