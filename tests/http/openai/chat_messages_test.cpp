#include "http/openai/chat_messages.h"

#include <gtest/gtest.h>

#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

Result<std::vector<Message>> parse(std::string_view body) {
  const auto document = JsonDocument::parse_object(body);
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");
  auto messages = read_messages(reader);
  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return messages;
}

Result<std::vector<Message>> parse_one(std::string_view message) {
  return parse(R"({"messages":[)" + std::string(message) + "]}");
}

TEST(ChatMessagesTest, ReadsAllRoles) {
  const auto messages = parse(
      R"({"messages":[{"role":"system","content":"s"},{"role":"developer","content":"d"},
          {"role":"user","content":"","name":"n","x":[1]},
          {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
             "function":{"name":"f","arguments":"{\"city\": \"Paris\"}"}}]},
          {"role":"tool","tool_call_id":"c1","content":"18C"}]})");

  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 5U);
  EXPECT_EQ((*messages)[1].role, Role::kSystem);
  EXPECT_EQ((*messages)[2].content, "");
  ASSERT_EQ((*messages)[3].tool_calls.size(), 1U);
  EXPECT_EQ((*messages)[3].tool_calls[0].id, "c1");
  EXPECT_EQ((*messages)[3].tool_calls[0].name, "f");
  EXPECT_EQ((*messages)[3].tool_calls[0].arguments, R"({"city":"Paris"})");
  EXPECT_EQ((*messages)[4].tool_call_id, "c1");
}

TEST(ChatMessagesTest, WrongMessagesAreRefusedWithTheirPath) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"({"messages":[]})", kInvalidValue, "messages"},
      {R"({})", kMissingRequiredParameter, "messages"},
      {R"({"messages":null})", kMissingRequiredParameter, "messages"},
      {R"({"messages":{}})", kInvalidType, "messages"},
      {R"({"messages":"x"})", kInvalidType, "messages"},
      {R"({"messages":[5]})", kInvalidType, "messages[0]"},
      {R"({"messages":[null]})", kInvalidType, "messages[0]"},
      {R"({"messages":[{"role":"user","content":"a"},{"content":"b"}]})", kMissingRequiredParameter,
       "messages[1].role"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);

  const Refusal single[] = {
      {R"({"role":"foo","content":"x"})", kInvalidValue, "messages[0].role"},
      {R"({"role":"function","content":"x"})", kInvalidValue, "messages[0].role"},
      {R"({"role":5,"content":"x"})", kInvalidType, "messages[0].role"},
      {R"({"role":"user"})", kMissingRequiredParameter, "messages[0].content"},
      {R"({"role":"user","content":null})", kMissingRequiredParameter, "messages[0].content"},
      {R"({"role":"user","content":5})", kInvalidType, "messages[0].content"},
      {R"({"role":"system"})", kMissingRequiredParameter, "messages[0].content"},
      {R"({"role":"assistant"})", kMissingRequiredParameter, "messages[0].content"},
      {R"({"role":"assistant","content":null,"tool_calls":[]})", kMissingRequiredParameter,
       "messages[0].content"},
      {R"({"role":"assistant","content":"x","function_call":{}})", kUnsupportedParameter,
       "messages[0].function_call"},
      {R"({"role":"assistant","content":"x","audio":{}})", kUnsupportedParameter,
       "messages[0].audio"},
      {R"({"role":"tool","content":"x"})", kMissingRequiredParameter, "messages[0].tool_call_id"},
      {R"({"role":"tool","content":"x","tool_call_id":""})", kInvalidValue,
       "messages[0].tool_call_id"},
      {R"({"role":"tool","tool_call_id":"c"})", kMissingRequiredParameter, "messages[0].content"},
  };
  for (const Refusal& row : single) expect_refused(parse_one(row.input), row);
}

TEST(ChatMessagesTest, WrongCallsAreRefusedWithTheirPath) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"(5)", kInvalidType, "messages[0].tool_calls[0]"},
      {R"({"type":"function","function":{"name":"f","arguments":""}})", kMissingRequiredParameter,
       "messages[0].tool_calls[0].id"},
      {R"({"id":"","type":"function","function":{"name":"f","arguments":""}})", kInvalidValue,
       "messages[0].tool_calls[0].id"},
      {R"({"id":"c","function":{"name":"f","arguments":""}})", kMissingRequiredParameter,
       "messages[0].tool_calls[0].type"},
      {R"({"id":"c","type":"custom","function":{"name":"f","arguments":""}})", kInvalidValue,
       "messages[0].tool_calls[0].type"},
      {R"({"id":"c","type":"function"})", kMissingRequiredParameter,
       "messages[0].tool_calls[0].function"},
      {R"({"id":"c","type":"function","function":{"arguments":""}})", kMissingRequiredParameter,
       "messages[0].tool_calls[0].function.name"},
      {R"({"id":"c","type":"function","function":{"name":"f"}})", kMissingRequiredParameter,
       "messages[0].tool_calls[0].function.arguments"},
      {R"({"id":"c","type":"function","function":{"name":"f","arguments":5}})", kInvalidType,
       "messages[0].tool_calls[0].function.arguments"},
      {R"({"id":"c","type":"function","function":{"name":"f","arguments":{}}})", kInvalidType,
       "messages[0].tool_calls[0].function.arguments"},
  };
  for (const Refusal& row : rows) {
    const std::string message =
        R"({"role":"assistant","tool_calls":[)" + std::string(row.input) + "]}";
    expect_refused(parse_one(message), row);
  }
}

TEST(ChatMessagesTest, PartsAreJoinedWithNothingBetween) {
  const auto parts = parse_one(
      R"({"role":"user","content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]})");
  const auto none = parse_one(R"({"role":"user","content":[]})");
  ASSERT_TRUE(parts && none);

  EXPECT_EQ((*parts)[0].content, "Hello");
  EXPECT_EQ((*none)[0].content, "");
}

TEST(ChatMessagesTest, PartsThatAreNotTextAreRefusedForEveryRole) {
  for (const char* role : {"system", "user", "assistant", "tool"}) {
    for (const char* part :
         {R"({"type":"image_url","image_url":{"url":"x"}})", R"({"type":"text"})",
          R"({"type":"text","text":null})", R"({"type":"text","text":5})", R"({"text":"x"})",
          R"({"type":5,"text":"x"})", R"("x")", "null"}) {
      const auto result = parse_one(std::string(R"({"tool_call_id":"c","role":")") + role +
                                    R"(","content":[)" + part + "]}");
      ASSERT_FALSE(result) << role << part;
      EXPECT_EQ(result.error().param, "messages[0].content") << role << part;
    }
  }
}

TEST(ChatMessagesTest, RefusalStandsInForNullContent) {
  const auto used = parse_one(R"({"role":"assistant","content":null,"refusal":"No."})");
  const auto unused = parse_one(R"({"role":"assistant","content":"Yes.","refusal":"No."})");
  ASSERT_TRUE(used && unused);

  EXPECT_EQ((*used)[0].content, "No.");
  EXPECT_EQ((*unused)[0].content, "Yes.");
}

TEST(ChatMessagesTest, AtMost4096MessagesAreAccepted) {
  const auto list_of = [](int count) {
    std::string body = R"({"messages":[)";
    for (int i = 0; i < count; ++i) {
      body += i == 0 ? R"({"role":"user","content":"x"})" : R"(,{"role":"user","content":"x"})";
    }
    return body + "]}";
  };

  EXPECT_TRUE(parse(list_of(4096)));
  expect_refused(parse(list_of(4097)), {"4097", ErrorCode::kInvalidValue, "messages"});
  expect_refused(parse(list_of(10000)), {"10000", ErrorCode::kInvalidValue, "messages"});
}

TEST(ChatMessagesTest, ArgumentsThatAreNotJsonBecomeAJsonString) {
  EXPECT_EQ(arguments_json(R"( {"a" : [1.0]} )"), R"({"a":[1.0]})");
  EXPECT_EQ(arguments_json("5"), "5");
  EXPECT_EQ(arguments_json(R"({"a":)"), R"("{\"a\":")");
  EXPECT_EQ(arguments_json(""), "\"\"");
}

}  // namespace
}  // namespace paceline::openai
