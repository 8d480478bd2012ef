#include "http/openai/websocket_message.h"

#include <gtest/gtest.h>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

ClientMessage parse(std::string_view text) { return parse_client_message(text, test_context()); }

TEST(WebsocketMessageTest, ReadsACreate) {
  const ClientMessage message = parse(
      R"({"type":"response.create","stream_id":"lane-1","model":"m","input":"Hi","generate":false,
          "include_rate_limits":true,"foo":1})");

  EXPECT_EQ(message.stream_id, "lane-1");
  ASSERT_TRUE(message.content) << message.content.error().message;
  const auto& create = std::get<CreateMessage>(*message.content);
  EXPECT_FALSE(create.generate);
  EXPECT_TRUE(create.include_rate_limits);
  EXPECT_EQ(create.request.fields.model, "m");
  EXPECT_EQ(create.request.fields.ignored.names, std::vector<std::string>{"foo"});
}

TEST(WebsocketMessageTest, ReadsACancel) {
  const ClientMessage lane = parse(R"({"type":"response.cancel","stream_id":"a"})");
  const ClientMessage one = parse(R"({"type":"response.cancel","response_id":"resp_1"})");
  ASSERT_TRUE(lane.content && one.content);

  EXPECT_FALSE(std::get<CancelMessage>(*lane.content).response_id);
  EXPECT_EQ(std::get<CancelMessage>(*one.content).response_id, "resp_1");
  EXPECT_FALSE(one.stream_id);
}

TEST(WebsocketMessageTest, WrongMessagesAreRefused) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {"{", kInvalidJson, ""},
      {"[]", kInvalidJson, ""},
      {"", kInvalidJson, ""},
      {R"({})", kMissingRequiredParameter, "type"},
      {R"({"type":5})", kInvalidType, "type"},
      {R"({"type":"response.foo"})", kInvalidValue, "type"},
      {R"({"type":"response.create","input":"x"})", kMissingRequiredParameter, "model"},
      {R"({"type":"response.create","model":"m","input":"x","stream":true})", kUnsupportedParameter,
       "stream"},
      {R"({"type":"response.create","model":"m","input":"x","stream":false})",
       kUnsupportedParameter, "stream"},
      {R"({"type":"response.create","model":"m","input":"x","background":false})",
       kUnsupportedParameter, "background"},
      {R"({"type":"response.create","model":"m","input":"x","stream_options":{}})",
       kUnsupportedParameter, "stream_options"},
      {R"({"type":"response.create","model":"m","input":"x","generate":1})", kInvalidType,
       "generate"},
      {R"({"type":"response.cancel","response_id":5})", kInvalidType, "response_id"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input).content, row);
}

TEST(WebsocketMessageTest, ErrorsKnowTheirLaneWhenItCouldBeRead) {
  const ClientMessage known = parse(R"({"type":"response.foo","stream_id":"a"})");
  const ClientMessage unknown = parse(R"({"stream_id":"a")");

  EXPECT_EQ(known.stream_id, "a");
  EXPECT_FALSE(known.content);
  EXPECT_FALSE(unknown.stream_id);
}

TEST(WebsocketMessageTest, StreamIdsAreChecked) {
  const std::string longest(256, 'a');
  for (const std::string& id : {std::string("\"\""), std::string("\"a b\""), std::string("\"é\""),
                                std::string("5"), "\"" + longest + "a\""}) {
    const ClientMessage message = parse(R"({"type":"response.cancel","stream_id":)" + id + "}");
    EXPECT_FALSE(message.stream_id) << id;
    expect_refused(message.content, {id, ErrorCode::kInvalidStreamId, "stream_id"});
  }
  EXPECT_TRUE(is_valid_stream_id(longest));
  EXPECT_TRUE(is_valid_stream_id("A-z_0.9"));
  EXPECT_FALSE(parse(R"({"type":"response.cancel","stream_id":null})").stream_id);
}

}  // namespace
}  // namespace paceline::openai
