#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
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

constexpr FrameShape kContinuation{.opcode = 0};
constexpr FrameShape kPing{.opcode = 9};

std::string create(std::string_view input, std::string_view fields = "") {
  return R"({"type":"response.create","model":"tiny","input":")" + std::string(input) +
         R"(","temperature":0)" + std::string(fields) + "}";
}

ServiceFixture::Options with_websocket(const WebsocketOptions& websocket) {
  ServiceFixture::Options options;
  options.http.websocket = websocket;
  return options;
}

bool nothing_runs(const ServiceFixture& fixture) {
  return fixture.comes_to_rest() && ServiceFixture::eventually([&fixture] {
           return fixture.metric("paceline_ws_connections") == 0;
         });
}

TEST(WebsocketTest, AnswerComesAsTheEventsOfTheContract) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello there");
  WebsocketClient client(fixture.port());
  ASSERT_EQ(client.handshake().status, 101);
  EXPECT_THAT(client.handshake().body,
              AllOf(HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), HasSubstr("x-request-id: "),
                    Not(HasSubstr("xtensions"))));

  client.send_text(create("Hi", R"(,"foo":1)"));
  const auto messages = client.read_response();

  EXPECT_EQ(joined_deltas(messages), "Hello there");
  EXPECT_THAT(messages.front(), HasSubstr(R"("ignored":["foo"])"));
  const auto types = types_of(messages);
  EXPECT_EQ(types.front(), "response.created");
  EXPECT_THAT(types, AllOf(Contains("response.in_progress"), Contains("response.output_text.done"),
                           Contains("response.output_item.done")));
  EXPECT_EQ(types.back(), "response.completed");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_THAT(messages[i], HasSubstr("\"sequence_number\":" + std::to_string(i)));
    EXPECT_THAT(messages[i], Not(HasSubstr("stream_id")));
  }
}

TEST(WebsocketTest, FragmentsMayHaveControlFramesBetweenThem) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  WebsocketClient client(fixture.port());
  const std::string text = create("Hi");
  const std::size_t part = text.size() / 5;

  client.send_frame(text.substr(0, part), {.opcode = 1, .is_final = false});
  client.send_frame(text.substr(part, part), {.opcode = 0, .is_final = false});
  client.send_frame("abc", kPing);
  client.send_frame(text.substr(2 * part, part), {.opcode = 0, .is_final = false});
  client.send_frame(text.substr(3 * part, part), {.opcode = 0, .is_final = false});
  client.send_frame(text.substr(4 * part), kContinuation);
  const WebsocketFrame pong = client.read_frame();
  const auto messages = client.read_response();

  EXPECT_EQ(pong.opcode, 10);
  EXPECT_EQ(pong.payload, "abc");
  EXPECT_EQ(joined_deltas(messages), "Hello");
}

TEST(WebsocketTest, CompressionIsNotNegotiated) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  WebsocketClient client(
      fixture.port(), "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n");
  EXPECT_THAT(client.handshake().body, Not(HasSubstr("deflate")));
  client.send_text(create("Hi"));
  EXPECT_EQ(joined_deltas(client.read_response()), "Hello");

  client.send_frame("{}", {.opcode = 1, .reserved_bits = 4});

  EXPECT_EQ(client.read_close(), 1002);
}

TEST(WebsocketTest, TooBigMessagesAreAnsweredWithTheirCloseCode) {
  WebsocketOptions websocket;
  websocket.max_message_bytes = 4096;
  ServiceFixture fixture(with_websocket(websocket));
  for (int i = 0; i < 10; ++i) {
    WebsocketClient one_frame(fixture.port());
    one_frame.send_text(std::string(4097, 'x'));
    EXPECT_EQ(one_frame.read_close(), 1009) << i;

    WebsocketClient fragments(fixture.port());
    fragments.send_frame(std::string(4000, 'x'), {.opcode = 1, .is_final = false});
    fragments.send_frame(std::string(97, 'x'), kContinuation);
    EXPECT_EQ(fragments.read_close(), 1009) << i;

    WebsocketClient announced(fixture.port());
    announced.send_frame("x", {.opcode = 1, .claimed_size = std::uint64_t{1} << 62});
    EXPECT_EQ(announced.read_close(), 1009) << i;

    WebsocketClient goes_on(fixture.port());
    for (int part = 0; part < 100; ++part) {
      goes_on.send_frame(std::string(65536, 'x'), {.opcode = part == 0 ? 1 : 0, .is_final = false});
    }
    EXPECT_EQ(goes_on.read_close(), 1009) << i;
  }
  EXPECT_TRUE(nothing_runs(fixture));
  EXPECT_EQ(fixture.metric(R"(paceline_ws_closes_total{code="1009"})"), 40);
}

TEST(WebsocketTest, MessageOfExactlyTheLimitIsServed) {
  WebsocketOptions websocket;
  websocket.max_message_bytes = 4096;
  ServiceFixture fixture(with_websocket(websocket));
  fixture.script_chat("Hi", "Hello");
  WebsocketClient client(fixture.port());
  std::string text = create("Hi", R"(,"metadata":{},"x":"")");
  text.insert(text.size() - 2, 4096 - text.size(), 'y');
  ASSERT_EQ(text.size(), 4096U);

  client.send_text(text);

  EXPECT_EQ(joined_deltas(client.read_response()), "Hello");
}

TEST(WebsocketTest, ProtocolErrorsCloseWithTheirCode) {
  ServiceFixture fixture;
  const std::string big_ping(126, 'p');
  const struct {
    std::string name;
    std::string bytes;
    int code;
  } rows[] = {
      {"unmasked", client_frame("{}", {.is_masked = false}), 1002},
      {"opcode 3", client_frame("{}", {.opcode = 3}), 1002},
      {"continuation first", client_frame("{}", kContinuation), 1002},
      {"text inside a message", client_frame("{", {.is_final = false}) + client_frame("}"), 1002},
      {"fragmented ping", client_frame("a", {.opcode = 9, .is_final = false}), 1002},
      {"ping of 126 bytes", client_frame(big_ping, kPing), 1002},
      {"close of one byte", client_frame("x", {.opcode = 8}), 1002},
      {"close code 1005", client_frame("\x03\xED", {.opcode = 8}), 1002},
      {"binary", client_frame("{}", {.opcode = 2}), 1003},
      {"not UTF-8", client_frame("\xE6\xAD\"", {.opcode = 1}), 1007},
  };
  for (const auto& row : rows) {
    WebsocketClient client(fixture.port());
    client.send_text(create("endless", R"(,"max_output_tokens":3000)"));
    client.connection().send(row.bytes);
    EXPECT_EQ(client.read_close(), row.code) << row.name;
  }
  EXPECT_TRUE(nothing_runs(fixture));
}

TEST(WebsocketTest, CloseIsEchoedAndCancelsTheWork) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());
  client.send_text(create("endless", R"(,"max_output_tokens":3000)"));
  client.send_text(create("waits"));
  ASSERT_FALSE(client.read_until_type({"response.output_text.delta"}).empty());

  client.send_frame(std::string("\x03\xE8", 2), {.opcode = 8});

  EXPECT_EQ(client.read_close(), 1000);
  EXPECT_TRUE(client.connection().is_closed_within(std::chrono::seconds(10)));
  EXPECT_TRUE(nothing_runs(fixture));
  EXPECT_EQ(fixture.metric(R"(paceline_ws_closes_total{code="1000"})"), 1);
}

TEST(WebsocketTest, LossOfTheConnectionCancelsTheWork) {
  ServiceFixture fixture;
  for (const bool is_reset : {true, false}) {
    WebsocketClient client(fixture.port());
    client.send_text(create("endless", R"(,"max_output_tokens":3000)"));
    ASSERT_FALSE(client.read_until_type({"response.output_text.delta"}).empty());

    if (is_reset) {
      client.connection().reset();
    } else {
      client.connection().finish_sending();
    }

    EXPECT_TRUE(nothing_runs(fixture));
  }
  EXPECT_EQ(fixture.metric_sum("paceline_cancellations_total", "cause=\"disconnect\""), 2);
}

TEST(WebsocketTest, LanesRunTogetherAndKeepTheirTexts) {
  ServiceFixture fixture;
  std::map<std::string, std::string> answers;
  for (int lane = 0; lane < 8; ++lane) {
    const std::string name = "lane-" + std::to_string(lane);
    answers[name] =
        std::string(static_cast<std::size_t>(20 + 15 * lane), static_cast<char>('a' + lane));
    fixture.script_chat(name, answers[name]);
  }
  WebsocketClient client(fixture.port());
  for (int round = 0; round < 5; ++round) {
    for (const auto& [name, answer] : answers) {
      client.send_text(create(name, R"(,"stream_id":")" + name + "\""));
      client.send_frame("p", kPing);
    }
    std::map<std::string, std::vector<std::string>> messages;
    for (std::size_t ended = 0; ended < answers.size();) {
      const std::string text = client.read_text();
      ASSERT_FALSE(text.empty());
      messages[string_member(text, "stream_id")].push_back(text);
      if (string_member(text, "type") == "response.completed") ++ended;
    }
    ASSERT_EQ(messages.size(), answers.size());
    for (const auto& [name, answer] : answers) {
      EXPECT_EQ(joined_deltas(messages[name]), answer);
      EXPECT_EQ(string_member(messages[name].front(), "type"), "response.created");
      EXPECT_EQ(string_member(messages[name].back(), "type"), "response.completed");
    }
  }
}

TEST(WebsocketTest, OneLaneAnswersInOrderWithoutOverlap) {
  ServiceFixture fixture;
  fixture.script_chat("one", "first");
  fixture.script_chat("two", "second");
  WebsocketClient client(fixture.port());

  client.send_text(create("one", R"(,"stream_id":"a")"));
  client.send_text(create("two", R"(,"stream_id":"a")"));

  EXPECT_EQ(joined_deltas(client.read_response()), "first");
  EXPECT_EQ(joined_deltas(client.read_response()), "second");
}

TEST(WebsocketTest, CancelOfALaneEndsWhatRunsAndWhatWaits) {
  ServiceFixture fixture;
  fixture.script_chat("other", "untouched");
  WebsocketClient client(fixture.port());
  client.send_text(create("endless", R"(,"stream_id":"a","max_output_tokens":3000)"));
  client.send_text(create("waits", R"(,"stream_id":"a")"));
  ASSERT_FALSE(client.read_until_type({"response.output_text.delta"}).empty());

  client.send_text(R"({"type":"response.cancel","stream_id":"a"})");
  std::vector<std::string> messages;
  while (types_of(messages).empty() || types_of(messages).back() != "response.incomplete" ||
         messages.size() < 2) {
    messages.push_back(client.read_text());
    ASSERT_FALSE(messages.back().empty());
  }

  EXPECT_THAT(messages.back(), HasSubstr(R"("status":"cancelled")"));
  EXPECT_THAT(messages, Contains(AllOf(HasSubstr(R"("type":"error","status":503,"stream_id":"a")"),
                                       HasSubstr("request_cancelled"))));
  client.send_text(create("other"));
  EXPECT_EQ(joined_deltas(client.read_response()), "untouched");
}

TEST(WebsocketTest, CancelNamesAResponse) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());
  client.send_text(create("endless", R"(,"stream_id":"a","store":false,"max_output_tokens":3000)"));
  const auto begun = client.read_until_type({"response.created"});
  const std::string id = string_member(begun.front(), "id");

  client.send_text(R"({"type":"response.cancel","response_id":")" + id + "\"}");
  const auto messages = client.read_response();
  client.send_text(R"({"type":"response.cancel","response_id":")" + id + "\"}");
  const std::string again = client.read_text();
  client.send_text(R"({"type":"response.cancel"})");
  const std::string nothing = client.read_text();

  EXPECT_THAT(messages.back(), AllOf(HasSubstr("response.incomplete"), HasSubstr("cancelled")));
  EXPECT_THAT(
      again, AllOf(HasSubstr(R"("status":404,"stream_id":null)"), HasSubstr("response_not_found")));
  EXPECT_THAT(nothing, HasSubstr("response_not_found"));
}

TEST(WebsocketTest, NamedLanesAreLimitedOverTheConnectionsLife) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "a");
  WebsocketClient client(fixture.port());
  for (int i = 0; i < 32; ++i) {
    client.send_text(create("Hi", R"(,"stream_id":"lane)" + std::to_string(i) + "\""));
    ASSERT_EQ(joined_deltas(client.read_response()), "a");
  }

  client.send_text(create("Hi", R"(,"stream_id":"one-more")"));
  const std::string refused = client.read_text();
  client.send_text(create("Hi", R"(,"stream_id":"lane0")"));
  const auto known = client.read_response();
  client.send_text(create("Hi"));
  const auto default_lane = client.read_response();

  EXPECT_THAT(refused, AllOf(HasSubstr(R"("status":400,"stream_id":"one-more")"),
                             HasSubstr("websocket_stream_limit_reached")));
  EXPECT_EQ(joined_deltas(known), "a");
  EXPECT_EQ(joined_deltas(default_lane), "a");
}

TEST(WebsocketTest, SixteenRunSixtyFourWaitAndTheRestIsRefused) {
  ServiceFixture fixture;
  fixture.runner().hold();
  fixture.script_chat("Hi", "a");
  WebsocketClient client(fixture.port());
  for (int i = 0; i < 81; ++i) {
    client.send_text(create("Hi", R"(,"stream_id":"lane)" + std::to_string(i % 20) + "\""));
  }

  const auto messages = client.read_until_type({"error"});
  fixture.runner().release();
  int completed = 0;
  while (completed < 80) {
    const std::string text = client.read_text();
    ASSERT_FALSE(text.empty());
    if (string_member(text, "type") == "response.completed") ++completed;
  }

  EXPECT_THAT(messages.back(), AllOf(HasSubstr(R"("status":429,"stream_id":"lane0")"),
                                     HasSubstr("websocket_queue_full")));
}

TEST(WebsocketTest, BadPayloadsDoNotTouchWhatRuns) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", std::string(300, 'x'));
  WebsocketClient client(fixture.port());
  client.send_text(create("Hi", R"(,"stream_id":"good")"));
  const std::string deep = R"({"type":"response.create","x":)" + std::string(3000, '[');
  const std::string too_long = std::string(9000, 'w');
  const struct {
    std::string text;
    std::string lane;
    std::string code;
  } rows[] = {
      {"{", "null", "invalid_json"},
      {"[]", "null", "invalid_json"},
      {deep, "null", "invalid_json"},
      {R"({"type":5,"stream_id":"bad"})", "\"bad\"", "invalid_type"},
      {R"({"type":"nope","stream_id":"bad"})", "\"bad\"", "invalid_value"},
      {R"({"type":"response.create","stream_id":"no spaces"})", "null", "invalid_stream_id"},
      {create("Hi", R"(,"stream_id":"bad","stream":true)"), "\"bad\"", "unsupported_parameter"},
      {create(too_long, R"(,"stream_id":"bad")"), "\"bad\"", "context_length_exceeded"},
      {R"({"type":"response.create","stream_id":"bad","model":"other","input":"x"})", "\"bad\"",
       "model_not_found"},
      {create("Hi", R"(,"stream_id":"bad","previous_response_id":"resp_x")"), "\"bad\"",
       "previous_response_not_found"},
  };
  for (const auto& row : rows) client.send_text(row.text);

  std::vector<std::string> errors;
  std::vector<std::string> good;
  while (errors.size() < std::size(rows) || good.empty() ||
         string_member(good.back(), "type") != "response.completed") {
    const std::string text = client.read_text();
    ASSERT_FALSE(text.empty());
    (string_member(text, "type") == "error" ? errors : good).push_back(text);
  }

  EXPECT_EQ(joined_deltas(good), std::string(300, 'x'));
  for (const auto& row : rows) {
    EXPECT_THAT(errors, Contains(AllOf(HasSubstr("\"stream_id\":" + row.lane),
                                       HasSubstr("\"code\":\"" + row.code + "\""))));
  }
}

TEST(WebsocketTest, LargeMessagesAreParsedToo) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());

  client.send_text(create(std::string(1000000, 'w'), R"(,"stream_id":"a")"));
  const std::string too_long = client.read_text();
  client.send_text(create(std::string(1000000, 'w'), R"(,"stream_id":"a","top_p":2)"));
  const std::string wrong = client.read_text();

  EXPECT_THAT(too_long, AllOf(HasSubstr("context_length_exceeded"), HasSubstr(R"("param":"input")"),
                              HasSubstr(R"("stream_id":"a")")));
  EXPECT_THAT(wrong, AllOf(HasSubstr(R"("param":"top_p")"), HasSubstr(R"("stream_id":"a")")));
}

TEST(WebsocketTest, ConnectionsThatAreDroppedLeaveNothing) {
  ServiceFixture fixture;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<WebsocketClient>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<WebsocketClient>(fixture.port()));
      clients.back()->send_text(create("endless", R"(,"max_output_tokens":3000)"));
    }
    for (const auto& client : clients) client->connection().reset();
  }

  EXPECT_TRUE(nothing_runs(fixture));
  EXPECT_EQ(fixture.metric("paceline_ws_connections_total"), 200);
  EXPECT_EQ(fixture.metric("paceline_ws_lanes"), 0);
  EXPECT_TRUE(
      ServiceFixture::eventually([&fixture] { return fixture.server().num_connections() == 0; }));
}

TEST(WebsocketTest, TooManyRefusalsInAMinuteCloseTheConnection) {
  WebsocketOptions websocket;
  websocket.max_errors_per_minute = 5;
  ServiceFixture fixture(with_websocket(websocket));
  WebsocketClient client(fixture.port());

  for (int i = 0; i < 6; ++i) client.send_text("{");

  EXPECT_EQ(client.read_close(), 1008);
}

TEST(WebsocketTest, ConversationGoesOnWithoutBeingStored) {
  ServiceFixture fixture;
  fixture.script_chat("one", "first");
  WebsocketClient client(fixture.port());
  client.send_text(create("one", R"(,"store":false,"stream_id":"a","return_token_ids":true)"));
  const std::string id = string_member(client.read_response().back(), "id");

  client.send_text(create(
      "two", R"(,"previous_response_id":")" + id + R"(","max_output_tokens":2,"stream_id":"b")"));
  const auto second = client.read_response();
  WebsocketClient other(fixture.port());
  other.send_text(create("two", R"(,"previous_response_id":")" + id + "\""));

  EXPECT_THAT(second.back(), HasSubstr(R"("previous_response_id":")" + id + "\""));
  EXPECT_EQ(string_member(second.back(), "type"), "response.completed");
  EXPECT_THAT(other.read_text(), HasSubstr("previous_response_not_found"));
}

TEST(WebsocketTest, PrefillOnlyMakesNoOutput) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());

  client.send_text(create("Hi", R"(,"generate":false)"));
  const auto messages = client.read_response();

  EXPECT_THAT(messages.back(), AllOf(HasSubstr("response.completed"), HasSubstr(R"("output":[])"),
                                     HasSubstr(R"("output_tokens":0)")));
}

TEST(WebsocketTest, RateLimitsComeAfterTheFirstAndTheLastEvent) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "a");
  WebsocketClient client(fixture.port());

  client.send_text(create("Hi", R"(,"stream_id":"a","include_rate_limits":true)"));
  auto types = types_of(client.read_response());
  types.push_back(string_member(client.read_text(), "type"));

  EXPECT_EQ(types[0], "response.created");
  EXPECT_EQ(types[1], "rate_limits.updated");
  EXPECT_EQ(types.back(), "rate_limits.updated");
}

TEST(WebsocketTest, HandshakesAreCheckedInOrder) {
  ServiceFixture fixture;
  const std::string upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
  const std::string version = "Sec-WebSocket-Version: 13\r\n";
  const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const auto status = [&fixture](std::string_view method, std::string_view path,
                                 const std::string& headers) {
    return fetch(fixture.port(), method, path, "", headers).status;
  };

  EXPECT_EQ(status("GET", "/v1/responses", ""), 426);
  EXPECT_EQ(status("GET", "/v1/responses", upgrade + "Sec-WebSocket-Version: 8\r\n" + key), 426);
  EXPECT_EQ(status("GET", "/v1/responses", "Upgrade: websocket\r\n" + version + key), 426);
  EXPECT_EQ(status("GET", "/v1/responses", upgrade + version), 400);
  EXPECT_EQ(status("GET", "/v1/responses", upgrade + version + "Sec-WebSocket-Key: c2hvcnQ=\r\n"),
            400);
  EXPECT_EQ(status("POST", "/v1/responses", upgrade + version + key), 400);
  EXPECT_EQ(status("GET", "/v1/models", upgrade + version + key), 404);
  const HttpReply old = fetch(fixture.port(), "GET", "/v1/responses", "",
                              upgrade + "Sec-WebSocket-Version: 8\r\n" + key);
  EXPECT_EQ(old.header("sec-websocket-version"), "13");
  EXPECT_EQ(old.header("upgrade"), "websocket");
}

TEST(WebsocketTest, ForeignOriginsAreRefused) {
  WebsocketOptions websocket;
  websocket.allowed_origins = {"https://app.example"};
  ServiceFixture fixture(with_websocket(websocket));
  const auto status = [&fixture](const std::string& headers) {
    return WebsocketClient(fixture.port(), headers).handshake().status;
  };

  EXPECT_EQ(status("Origin: https://evil.example\r\n"), 403);
  EXPECT_EQ(status("Origin: null\r\n"), 403);
  EXPECT_EQ(status("Origin: https://app.example\r\n"), 101);
  EXPECT_EQ(status(""), 101);
}

TEST(WebsocketTest, ConnectionsAreBounded) {
  WebsocketOptions websocket;
  websocket.max_connections = 2;
  ServiceFixture fixture(with_websocket(websocket));
  {
    WebsocketClient one(fixture.port());
    WebsocketClient two(fixture.port());
    EXPECT_EQ(WebsocketClient(fixture.port()).handshake().status, 503);
  }

  EXPECT_TRUE(ServiceFixture::eventually(
      [&fixture] { return WebsocketClient(fixture.port()).handshake().status == 101; }));
}

TEST(WebsocketTest, SilentConnectionIsPingedAndThenDropped) {
  WebsocketOptions websocket;
  websocket.ping = std::chrono::milliseconds(100);
  websocket.idle_timeout = std::chrono::milliseconds(400);
  ServiceFixture fixture(with_websocket(websocket));
  WebsocketClient client(fixture.port());

  const WebsocketFrame first = client.read_frame();

  EXPECT_EQ(first.opcode, 9);
  EXPECT_EQ(client.read_close(), 0);
  EXPECT_TRUE(nothing_runs(fixture));
}

TEST(WebsocketTest, LifeEndsWithTheLastResponse) {
  WebsocketOptions websocket;
  websocket.max_life = std::chrono::milliseconds(200);
  websocket.max_errors_per_minute = 100000;
  ServiceFixture fixture(with_websocket(websocket));
  fixture.runner().hold();
  fixture.script_chat("Hi", "Hello");
  WebsocketClient client(fixture.port());
  client.send_text(create("Hi"));
  ASSERT_TRUE(ServiceFixture::eventually([&client] {
    client.send_text(create("late", R"(,"stream_id":"b")"));
    client.send_text("{");  // is answered in any case, after the create
    while (true) {
      const std::string message = client.read_text();
      if (message.find("websocket_connection_limit_reached") != std::string::npos) return true;
      if (message.empty() || message.find("invalid_json") != std::string::npos) return false;
    }
  }));

  client.send_text(R"({"type":"response.cancel","stream_id":"b"})");
  fixture.runner().release();

  EXPECT_THAT(client.read_until_type({"response.completed"}).back(),
              HasSubstr("response.completed"));
  EXPECT_EQ(client.read_close(), 1001);
}

TEST(WebsocketTest, ServerThatEndsClosesWithGoingAway) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());
  client.send_text(create("endless", R"(,"max_output_tokens":20)"));
  ASSERT_FALSE(client.read_response().empty());

  std::thread stop([&fixture] { fixture.server().stop(std::chrono::seconds(10)); });

  EXPECT_EQ(client.read_close(), 1001);
  client.send_frame(std::string("\x03\xE9", 2), {.opcode = 8});
  stop.join();
}

TEST(WebsocketTest, DrainRefusesNewCreates) {
  ServiceFixture fixture;
  WebsocketClient client(fixture.port());
  fixture.service().drain(std::chrono::steady_clock::now() + std::chrono::seconds(30));

  client.send_text(create("Hi"));

  EXPECT_THAT(client.read_text(), AllOf(HasSubstr("server_draining"), HasSubstr("retry_after_ms")));
  EXPECT_EQ(WebsocketClient(fixture.port()).handshake().status, 503);
}

TEST(WebsocketTest, SlowReaderIsPausedAndThenClosed) {
  ServiceFixture::Options options;
  options.http.write_buffer_bytes = 16384;
  options.http.slow_reader_timeout = std::chrono::milliseconds(500);
  ServiceFixture fixture(options);
  WebsocketClient client(fixture.port(), "", 4096);

  client.send_text(create(
      "endless",
      R"(,"max_output_tokens":3800,"include":["message.output_text.logprobs"],"top_logprobs":20)"));

  EXPECT_TRUE(ServiceFixture::eventually([&fixture] {
    return fixture.metric_sum("paceline_cancellations_total", "cause=\"slow_reader\"") == 1;
  }));
  EXPECT_EQ(client.read_close(), 1008);
  EXPECT_TRUE(nothing_runs(fixture));
}

TEST(WebsocketTest, EveryCreateHasALineInTheLog) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  WebsocketClient client(fixture.port());
  client.send_text(create("Hi", R"(,"stream_id":"a")"));
  ASSERT_FALSE(client.read_response().empty());
  client.send_text("{");
  ASSERT_FALSE(client.read_text().empty());

  client.send_frame(std::string("\x03\xE8", 2), {.opcode = 8});
  client.connection().finish_sending();
  ASSERT_TRUE(nothing_runs(fixture));

  const auto lines = fixture.log_lines();
  EXPECT_THAT(lines, Contains(HasSubstr("\"event\":\"ws_open\"")));
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("\"event\":\"ws_close\""), HasSubstr("\"code\":1000"))));
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("\"transport\":\"ws\""), HasSubstr("\"stream_id\":\"a\""),
                             HasSubstr("\"status\":200"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("\"transport\":\"ws\""), HasSubstr("\"status\":400"),
                                    HasSubstr("invalid_json"))));
}

}  // namespace
}  // namespace paceline
