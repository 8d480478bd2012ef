#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/integration/service_fixture.h"
#include "tests/support/http_client.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Requests that do not run undisturbed to their end: clients that leave or do not read, time
// limits, full queues, loading, draining.

constexpr std::string_view kLong = R"(,"max_tokens":3000)";
constexpr std::string_view kLongStream = R"(,"max_tokens":3000,"stream":true)";

double num_cancelled(const ServiceFixture& fixture, std::string_view cause) {
  return fixture.metric_sum("paceline_cancellations_total", "cause=\"" + std::string(cause) + "\"");
}

/// Sends requests in this order, each on a connection of its own, while the engine is held in the
/// first one's first step; then lets it go on. With max_running 1 the first one runs and the others
/// wait.
std::vector<RawConnection> send_behind(ServiceFixture& fixture,
                                       const std::vector<std::string>& requests) {
  std::vector<RawConnection> connections;
  fixture.runner().hold();
  for (const std::string& request : requests) {
    connections.emplace_back(fixture.port());
    connections.back().send(request);
    const auto count = static_cast<double>(connections.size());
    EXPECT_TRUE(ServiceFixture::eventually(
        [&] { return fixture.metric_sum("paceline_tokenize_seconds_count") == count; }));
    EXPECT_TRUE(fixture.runner().wait_until_held());
  }
  fixture.runner().release();
  return connections;
}

void read_first_events(RawConnection& connection) {
  ASSERT_TRUE(connection.read_until("data: "));
  ASSERT_TRUE(connection.read_at_least(connection.received().size() + 1));
}

TEST(DisconnectTest, StreamIsCancelledByFinAndByReset) {
  for (const bool by_reset : {false, true}) {
    ServiceFixture fixture;
    RawConnection connection(fixture.port());
    connection.send(chat_request("Hi", kLongStream));
    read_first_events(connection);

    if (by_reset) {
      connection.reset();
    } else {
      connection.finish_sending();
    }

    EXPECT_TRUE(fixture.comes_to_rest());
    EXPECT_TRUE(
        ServiceFixture::eventually([&] { return num_cancelled(fixture, "disconnect") == 1; }));
    EXPECT_LT(fixture.metric("vllm:generation_tokens_total{model_name=\"tiny\"}"), 3000);
  }
}

TEST(DisconnectTest, AnswerThatIsNotStreamedIsCancelledToo) {
  ServiceFixture fixture;
  fixture.runner().hold();
  {
    RawConnection connection(fixture.port());
    connection.send(chat_request("Hi", kLong));
    ASSERT_TRUE(fixture.runner().wait_until_held());
  }
  fixture.runner().release();

  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_EQ(num_cancelled(fixture, "disconnect"), 1);
  EXPECT_TRUE(ServiceFixture::eventually([&] { return !fixture.log_lines().empty(); }));
  EXPECT_THAT(fixture.log_lines().front(),
              AllOf(HasSubstr("\"status\":499"), HasSubstr("\"cancel_cause\":\"disconnect\"")));
}

TEST(DisconnectTest, WaitingRequestLeavesTheQueue) {
  ServiceFixture::Options options;
  options.scheduler.max_running = 1;
  ServiceFixture fixture(options);
  fixture.runner().hold();
  RawConnection running(fixture.port());
  running.send(chat_request("Hi", R"(,"max_tokens":50)"));
  ASSERT_TRUE(fixture.runner().wait_until_held());
  {
    RawConnection waiting(fixture.port());
    waiting.send(chat_request("Other", kLong));
    waiting.finish_sending();
  }
  fixture.runner().release();

  EXPECT_EQ(read_reply(running).status, 200);
  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_TRUE(
      ServiceFixture::eventually([&] { return num_cancelled(fixture, "disconnect") == 1; }));
}

TEST(DisconnectTest, PipelinedRequestIsNotTakenForALeavingClient) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  RawConnection connection(fixture.port());
  fixture.runner().hold();
  connection.send(chat_request("Hi", R"(,"stream":true)"));
  ASSERT_TRUE(fixture.runner().wait_until_held());
  connection.send(make_request("GET", "/health") + chat_request("Hi"));
  fixture.runner().release();

  EXPECT_EQ(joined_content(read_reply(connection).events()), "Hello");
  EXPECT_EQ(read_reply(connection).body, R"({"status":"ok"})");
  EXPECT_THAT(read_reply(connection).body, HasSubstr("\"content\":\"Hello\""));
}

TEST(DisconnectTest, UpgradeBehindAStreamIsServed) {
  ServiceFixture fixture;
  fixture.script_chat("Hi", "Hello");
  RawConnection connection(fixture.port());
  fixture.runner().hold();
  connection.send(chat_request("Hi", R"(,"stream":true)"));
  ASSERT_TRUE(fixture.runner().wait_until_held());
  connection.send(make_request("GET", "/v1/responses", "",
                               "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                               "Sec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  fixture.runner().release();

  EXPECT_EQ(joined_content(read_reply(connection).events()), "Hello");
  EXPECT_EQ(read_reply(connection).status, 101);
}

TEST(DisconnectTest, GaugesReturnToZeroWhereverRequestsAreAborted) {
  ServiceFixture fixture;
  const std::string request = chat_request("Hi", kLongStream);
  for (std::size_t sent = 1; sent <= request.size(); sent += request.size() / 24) {
    RawConnection connection(fixture.port());
    connection.send(request.substr(0, sent));
    connection.reset();
  }
  for (int events = 0; events < 8; ++events) {
    RawConnection connection(fixture.port());
    connection.send(request);
    ASSERT_TRUE(connection.read_at_least(static_cast<std::size_t>(events) * 200 + 1));
    connection.reset();
  }

  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_TRUE(ServiceFixture::eventually([&] { return fixture.server().num_connections() == 0; }));
  EXPECT_EQ(fixture.metric("paceline_http_connections"), 0);
  EXPECT_EQ(fixture.metric("vllm:num_requests_running{model_name=\"tiny\"}"), 0);
  EXPECT_EQ(fixture.metric("vllm:num_requests_waiting{model_name=\"tiny\"}"), 0);
}

constexpr std::string_view kHeavyStream =
    R"(,"max_tokens":3000,"stream":true,"logprobs":true,"top_logprobs":20)";

ServiceFixture::Options slow_reader_options(milliseconds timeout) {
  ServiceFixture::Options options;
  options.http.write_buffer_bytes = 16384;
  options.http.slow_reader_timeout = timeout;
  return options;
}

TEST(SlowReaderTest, ReaderThatComesBackGetsTheWholeText) {
  ServiceFixture fixture(slow_reader_options(std::chrono::seconds(30)));
  RawConnection connection(fixture.port(), 4096);
  connection.send(chat_request("Hi", kHeavyStream));
  ASSERT_TRUE(ServiceFixture::eventually(
      [&] { return fixture.metric("paceline_sched_decisions_total{decision=\"pause\"}") >= 1; }));

  const HttpReply other = fetch(fixture.port(), "POST", "/v1/chat/completions",
                                chat_body("Other", R"(,"max_tokens":20)"));
  const HttpReply reply = read_reply(connection);

  EXPECT_EQ(other.status, 200);
  EXPECT_TRUE(reply.is_complete);
  EXPECT_EQ(joined_content(reply.events()).size(), 3000U);
  EXPECT_EQ(reply.events().back(), "[DONE]");
}

TEST(SlowReaderTest, ReaderThatDoesNotComeBackIsDisconnected) {
  ServiceFixture fixture(slow_reader_options(milliseconds(200)));
  RawConnection connection(fixture.port(), 4096);
  connection.send(chat_request("Hi", kHeavyStream));

  EXPECT_TRUE(
      ServiceFixture::eventually([&] { return num_cancelled(fixture, "slow_reader") == 1; }));
  EXPECT_TRUE(fixture.comes_to_rest());
  EXPECT_EQ(fixture.metric("paceline_http_timeouts_total{kind=\"slow_reader\"}"), 1);
}

TEST(KeepAliveTest, CommentsBridgeTheWaitForTheFirstEvent) {
  ServiceFixture::Options options;
  options.http.sse_keep_alive = milliseconds(20);
  ServiceFixture fixture(options);
  fixture.script_chat("Hi", "Hello");
  fixture.runner().hold();
  RawConnection connection(fixture.port());
  connection.send(chat_request("Hi", R"(,"stream":true)"));
  ASSERT_TRUE(connection.read_until("\r\n: "));
  fixture.runner().release();

  const HttpReply reply = read_reply(connection);

  EXPECT_THAT(reply.chunks.front(), StartsWith(": "));
  EXPECT_EQ(joined_content(reply.events()), "Hello");
  EXPECT_EQ(reply.chunks.back(), "data: [DONE]\n\n");
}

TEST(KeepAliveTest, CommentTellsThePlaceInTheQueue) {
  ServiceFixture::Options options;
  options.http.sse_keep_alive = milliseconds(20);
  options.scheduler.max_running = 1;
  ServiceFixture fixture(options);
  std::vector<std::string> requests(20, chat_request("Hi", kLong));
  requests.push_back(chat_request("Other", R"(,"stream":true,"max_tokens":1)"));

  auto connections = send_behind(fixture, requests);

  EXPECT_TRUE(connections.back().read_until(": queued position="));
}

TEST(TimeLimitTest, RequestPastItsOwnLimitIsAnswered504) {
  ServiceFixture::Options options;
  options.scheduler.max_running = 1;
  ServiceFixture fixture(options);
  auto connections =
      send_behind(fixture, {chat_request("Hi", kLong),
                            make_request("POST", "/v1/chat/completions",
                                         chat_body("Field", R"(,"timeout_ms":20,"stream":true)"),
                                         "X-Request-Timeout-Ms: 3600000\r\n"),
                            make_request("POST", "/v1/chat/completions", chat_body("Header"),
                                         "X-Request-Timeout-Ms: 20\r\n")});

  for (std::size_t i = 1; i < connections.size(); ++i) {
    const HttpReply reply = read_reply(connections[i]);

    EXPECT_EQ(reply.status, 504);
    EXPECT_THAT(reply.body, HasSubstr("\"code\":\"deadline_exceeded\""));
    EXPECT_EQ(reply.header("x-should-retry"), "false");
    EXPECT_FALSE(reply.has_header("retry-after"));
  }
}

TEST(TimeLimitTest, RequestThatWaitsTooLongIsAnswered503) {
  ServiceFixture::Options options;
  options.scheduler.max_running = 1;
  options.http.queue_timeout = milliseconds(20);
  ServiceFixture fixture(options);
  auto connections =
      send_behind(fixture, {chat_request("Hi", kLong), chat_request("Other", kLong)});

  const HttpReply reply = read_reply(connections.back());

  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("\"code\":\"queue_timeout\""));
  EXPECT_GE(std::stoi(reply.header("retry-after")), 1);
  EXPECT_GE(std::stoi(reply.header("retry-after-ms")), 1000);
}

TEST(QueueTest, RequestAboveTheBoundIsRefused) {
  ServiceFixture::Options options;
  options.scheduler.max_running = 1;
  options.scheduler.max_queued = 1;
  ServiceFixture fixture(options);
  auto connections = send_behind(
      fixture,
      {chat_request("First", kLong), chat_request("Second", kLong), chat_request("Third", kLong)});

  const HttpReply reply = read_reply(connections.back());

  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("\"code\":\"server_overloaded\""));
  EXPECT_TRUE(reply.has_header("retry-after"));
  EXPECT_EQ(fixture.metric("paceline_requests_rejected_total{reason=\"server_overloaded\"}"), 1);
}

TEST(ReadinessTest, LoadingReadyAndStalled) {
  ServiceFixture::Options options;
  options.is_loaded = false;
  options.engine.stall_timeout = milliseconds(20);
  ServiceFixture fixture(options);
  const auto ready = [&fixture] { return fetch(fixture.port(), "GET", "/ready"); };

  EXPECT_EQ(ready().body, R"({"status":"loading"})");
  fixture.load();
  EXPECT_EQ(ready().body, R"({"status":"ready"})");
  EXPECT_EQ(ready().status, 200);

  fixture.runner().hold();
  RawConnection connection(fixture.port());
  connection.send(chat_request("Hi", R"(,"max_tokens":2)"));
  ASSERT_TRUE(fixture.runner().wait_until_held());
  EXPECT_TRUE(ServiceFixture::eventually([&] { return ready().status == 503; }));
  EXPECT_EQ(ready().body, R"({"status":"stalled"})");
  EXPECT_EQ(fetch(fixture.port(), "GET", "/health").status, 200);
  EXPECT_EQ(fetch(fixture.port(), "GET", "/metrics").status, 200);

  fixture.runner().release();
  EXPECT_EQ(read_reply(connection).status, 200);
  EXPECT_TRUE(ServiceFixture::eventually([&] { return ready().status == 200; }));
}

TEST(DrainTest, AcceptedStreamsEndInFullAndNewWorkIsRefused) {
  ServiceFixture fixture;
  fixture.runner().hold();
  std::vector<RawConnection> streams;
  for (int i = 0; i < 3; ++i) {
    streams.emplace_back(fixture.port());
    streams.back().send(chat_request("Hi", R"(,"stream":true,"max_tokens":200)"));
  }
  ASSERT_TRUE(fixture.runner().wait_until_held());
  ASSERT_TRUE(ServiceFixture::eventually(
      [&] { return fixture.metric_sum("paceline_tokenize_seconds_count") == 3; }));

  fixture.service().drain(std::chrono::steady_clock::now() + std::chrono::seconds(60));
  const HttpReply refused = fetch(fixture.port(), "POST", "/v1/chat/completions", chat_body("Hi"));
  const HttpReply ready = fetch(fixture.port(), "GET", "/ready");
  fixture.runner().release();

  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("\"code\":\"server_draining\""));
  EXPECT_EQ(refused.header("retry-after"), "5");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, R"({"status":"draining"})");
  EXPECT_EQ(fetch(fixture.port(), "GET", "/health").status, 200);
  for (RawConnection& stream : streams) {
    const HttpReply reply = read_reply(stream);
    EXPECT_EQ(joined_content(reply.events()).size(), 200U);
    EXPECT_EQ(reply.events().back(), "[DONE]");
  }
  fixture.service().wait_until_drained(std::chrono::seconds(1));
  fixture.server().stop(std::chrono::seconds(5));
  EXPECT_EQ(fixture.server().num_connections(), 0U);
}

TEST(DrainTest, StreamsPastTheDeadlineGetTheErrorEnding) {
  ServiceFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(chat_request("Hi", kLongStream));
  read_first_events(connection);

  fixture.service().drain(std::chrono::steady_clock::now());
  const HttpReply reply = read_reply(connection);

  ASSERT_TRUE(reply.is_complete);
  const auto events = reply.events();
  EXPECT_THAT(events[events.size() - 2],
              AllOf(StartsWith("{\"error\":{"), HasSubstr("\"code\":\"server_draining\"")));
  EXPECT_EQ(events.back(), "[DONE]");
}

TEST(LoadTest, ManyStreamsAtOnceEachGetTheirOwnText) {
  ServiceFixture fixture;
  std::vector<RawConnection> streams;
  for (int i = 0; i < 24; ++i) {
    const std::string name = "client " + std::to_string(i);
    fixture.script_chat(name, "answer to " + name);
    streams.emplace_back(fixture.port());
    streams.back().send(chat_request(name, R"(,"stream":true)"));
  }

  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(joined_content(read_reply(streams[static_cast<std::size_t>(i)]).events()),
              "answer to client " + std::to_string(i));
  }
  EXPECT_TRUE(fixture.comes_to_rest());
}

}  // namespace
}  // namespace paceline
