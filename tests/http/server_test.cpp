#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/http/server_fixture.h"
#include "tests/support/http_client.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

// What the server does with connections, framing and paths; no model is needed for it, so token
// endpoints answer 503 once their body is read.

constexpr std::string_view kBody = R"({"prompt":"Hello"})";

void expect_error(const HttpReply& reply, int status, std::string_view code) {
  EXPECT_EQ(reply.status, status);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_THAT(reply.body, StartsWith(R"({"error":{"message":")"));
  EXPECT_THAT(reply.body, HasSubstr("\"code\":\"" + std::string(code) + "\""));
  EXPECT_TRUE(reply.has_header("x-request-id"));
}

TEST(ServerTest, HealthAndReadinessAreToldApartWhileTheModelLoads) {
  ServerFixture fixture;

  const HttpReply health = fetch(fixture.port(), "GET", "/health");
  const HttpReply ready = fetch(fixture.port(), "GET", "/ready");

  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, R"({"status":"ok"})");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, R"({"status":"loading"})");
}

TEST(ServerTest, GenerationIsRefusedWhileTheModelLoads) {
  ServerFixture fixture;

  const HttpReply reply = fetch(fixture.port(), "POST", "/v1/chat/completions", "{}");

  expect_error(reply, 503, "model_loading");
  EXPECT_EQ(reply.header("retry-after"), "5");
  EXPECT_EQ(reply.header("retry-after-ms"), "5000");
}

TEST(ServerTest, MethodsAndPathsAreAnsweredByTheTable) {
  ServerFixture fixture;
  struct Case {
    const char* method;
    const char* target;
    int status;
  };
  for (const auto& [method, target, status] : {Case{"GET", "/v1/models", 200},
                                               Case{"GET", "/v1/models?x=1", 200},
                                               Case{"GET", "http://h/v1/models", 200},
                                               Case{"POST", "/v1/models", 405},
                                               Case{"GET", "/v1/chat/completions", 405},
                                               Case{"TRACE", "/v1/models", 405},
                                               Case{"PUT", "/v1/models", 405},
                                               Case{"CONNECT", "h:1", 405},
                                               Case{"GET", "/nope", 404},
                                               Case{"TRACE", "/nope", 404},
                                               Case{"GET", "/v1/models/", 404},
                                               Case{"GET", "//v1/models", 404},
                                               Case{"GET", "/v1%2Fmodels", 404},
                                               Case{"GET", "/v1/models/nope", 404},
                                               Case{"GET", "/%", 400},
                                               Case{"OPTIONS", "*", 204},
                                               Case{"OPTIONS", "/v1/models", 204},
                                               Case{"OPTIONS", "/nope", 404},
                                               Case{"GET", "/admin/tenants", 403},
                                               Case{"POST", "/admin/drain", 403},
                                               Case{"GET", "/metrics", 200},
                                               Case{"GET", "/version", 200},
                                               Case{"GET", "/", 200}}) {
    const HttpReply reply = fetch(fixture.port(), method, target);

    EXPECT_EQ(reply.status, status) << method << " " << target;
    EXPECT_TRUE(reply.has_header("x-request-id")) << method << " " << target;
    EXPECT_EQ(reply.body.starts_with("{\"error\":{"), status >= 400) << target;
  }
  EXPECT_EQ(fetch(fixture.port(), "GET", "/health").status, 200);
}

TEST(ServerTest, WrongMethodNamesTheRightOnes) {
  ServerFixture fixture;

  const HttpReply reply = fetch(fixture.port(), "GET", "/v1/chat/completions");

  expect_error(reply, 405, "method_not_allowed");
  EXPECT_EQ(reply.header("allow"), "POST, OPTIONS");
  EXPECT_EQ(fetch(fixture.port(), "OPTIONS", "/health").header("allow"), "GET, HEAD, OPTIONS");
}

TEST(ServerTest, HeadHasTheLengthOfGetAndNoBody) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(make_request("HEAD", "/health") + make_request("GET", "/health"));

  const HttpReply head = read_reply(connection, false);
  const HttpReply get = read_reply(connection);

  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), std::to_string(get.body.size()));
  EXPECT_EQ(get.body, R"({"status":"ok"})");
}

TEST(ServerTest, UpgradeToWebSocketOnAnotherPathIsNotFound) {
  ServerFixture fixture;
  const std::string_view upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";

  EXPECT_EQ(fetch(fixture.port(), "GET", "/v1/models", "", upgrade).status, 404);
  EXPECT_EQ(fetch(fixture.port(), "GET", "/v1/models", "", "Upgrade: h2c\r\n").status, 200);
}

TEST(ServerTest, StaticFilesCannotBeEscaped) {
  ServerFixture fixture;
  for (const char* target :
       {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/ui/../../../etc/passwd",
        "/ui/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/ui//etc/passwd", "/ui/"}) {
    const HttpReply reply = fetch(fixture.port(), "GET", target);

    expect_error(reply, 404, "not_found");
  }
}

TEST(ServerTest, PageIsServedWithItsTypeAndOnlyItsOwnOrigin) {
  ServerFixture fixture;

  const HttpReply page = fetch(fixture.port(), "GET", "/");
  const HttpReply file = fetch(fixture.port(), "GET", "/ui/index.html");

  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("x-content-type-options"), "nosniff");
  EXPECT_THAT(page.header("content-security-policy"), StartsWith("default-src 'self'"));
  EXPECT_EQ(page.body, file.body);
}

TEST(ServerTest, PageCanBeSwitchedOff) {
  HttpOptions options = quick_options();
  options.ui_enabled = false;
  ServerFixture fixture(options);

  EXPECT_EQ(fetch(fixture.port(), "GET", "/").status, 404);
  EXPECT_EQ(fetch(fixture.port(), "GET", "/ui/index.html").status, 404);
}

// Framing

TEST(FramingTest, PipelinedRequestsAreAnsweredInOrder) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(make_request("GET", "/health") + make_request("POST", "/tokenize", kBody) +
                  make_request("GET", "/v1/models"));

  EXPECT_EQ(read_reply(connection).body, R"({"status":"ok"})");
  EXPECT_EQ(read_reply(connection).status, 503);
  EXPECT_THAT(read_reply(connection).body, HasSubstr("\"object\":\"list\""));
}

TEST(FramingTest, RequestSplitAtEveryByteIsAnsweredTheSame) {
  ServerFixture fixture;
  const std::string request = make_request("POST", "/tokenize", kBody);
  RawConnection connection(fixture.port());
  for (std::size_t split = 1; split < request.size(); ++split) {
    connection.send(request.substr(0, split));
    connection.send(request.substr(split));

    EXPECT_EQ(read_reply(connection).status, 503) << split;
  }
}

TEST(FramingTest, AmbiguousLengthClosesAndNothingBehindItIsRun) {
  ServerFixture fixture;
  for (const char* headers :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n", "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4, 4\r\n", "Content-Length: 18446744073709551616\r\n"}) {
    const std::size_t lines = fixture.num_request_lines();
    RawConnection connection(fixture.port());
    connection.send("POST /tokenize HTTP/1.1\r\nHost: a\r\n" + std::string(headers) +
                    "\r\n0\r\n\r\n" + make_request("GET", "/health"));
    const HttpReply reply = read_reply(connection);

    expect_error(reply, 400, "malformed_request");
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_EQ(connection.read_to_end(), "") << headers;
    EXPECT_EQ(fixture.num_request_lines(), lines + 1) << headers;
  }
}

TEST(FramingTest, BareLineFeedIsRefused) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send("GET /health HTTP/1.1\nHost: a\n\n");

  expect_error(read_reply(connection), 400, "malformed_request");
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
}

TEST(FramingTest, UnknownTransferCodingIsNotImplemented) {
  ServerFixture fixture;

  const HttpReply reply =
      fetch(fixture.port(), "POST", "/tokenize", "", "Transfer-Encoding: gzip, chunked\r\n");

  expect_error(reply, 501, "not_implemented");
}

TEST(FramingTest, ChunkedBodyIsRead) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  std::string request = "POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char c : kBody) request += "1;a=b\r\n" + std::string(1, c) + "\r\n";
  connection.send(request + "0\r\nX-Trailer: t\r\n\r\n" + make_request("GET", "/health"));

  EXPECT_EQ(read_reply(connection).status, 503);
  EXPECT_EQ(read_reply(connection).status, 200);
}

TEST(FramingTest, BadChunkCloses) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");

  expect_error(read_reply(connection), 400, "malformed_request");
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
}

TEST(FramingTest, ChunkedBodyThatNeverEndsTimesOut) {
  ServerFixture fixture(quick_options());
  RawConnection connection(fixture.port());
  connection.send(
      "POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n");

  expect_error(read_reply(connection), 408, "request_timeout");
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
  EXPECT_EQ(fixture.metrics().timeouts[HttpTimeout::kBody].value(), 1);
}

TEST(FramingTest, BodyAboveTheLimitIsRefusedBeforeItIsSent) {
  HttpOptions options = quick_options();
  options.max_body_bytes = 1000;
  options.max_token_body_bytes = 100;
  ServerFixture fixture(options);
  RawConnection connection(fixture.port());
  connection.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n");

  expect_error(read_reply(connection), 413, "request_too_large");
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
  EXPECT_EQ(fetch(fixture.port(), "POST", "/tokenize", std::string(100, ' ')).status, 503);
}

TEST(FramingTest, ChunkedBodyIsCountedWhileItIsRead) {
  HttpOptions options = quick_options();
  options.max_token_body_bytes = 100;
  ServerFixture fixture(options);
  RawConnection connection(fixture.port());
  connection.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                  std::string(101, 'a') + "\r\n");

  const HttpReply reply = read_reply(connection);
  expect_error(reply, 413, "request_too_large");
  EXPECT_EQ(reply.header("connection"), "close");
}

TEST(FramingTest, ExpectationIsMetBeforeTheBodyIsSent) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: " +
                  std::to_string(kBody.size()) + "\r\n\r\n");

  ASSERT_TRUE(connection.read_until("\r\n\r\n"));
  EXPECT_EQ(connection.take(25), "HTTP/1.1 100 Continue\r\n\r\n");
  connection.send(kBody);
  EXPECT_EQ(read_reply(connection).status, 503);
}

TEST(FramingTest, BodyThatIsRefusedIsNotInvited) {
  HttpOptions options = quick_options();
  options.max_token_body_bytes = 10;
  ServerFixture fixture(options);
  struct Case {
    const char* target;
    const char* expect;
    int status;
  };
  for (const auto& [target, expect, status] :
       {Case{"/tokenize", "100-continue", 413}, Case{"/detokenize", "200-ok", 413},
        Case{"/v1/models", "100-continue", 405}, Case{"/nope", "100-continue", 404},
        Case{"/v1/chat/completions", "100-continue", 503}}) {
    RawConnection connection(fixture.port());
    connection.send("POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nExpect: " + expect +
                    "\r\nContent-Length: 11\r\n\r\n");
    const HttpReply reply = read_reply(connection);

    EXPECT_EQ(reply.status, status) << target;
    EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience)) << target;
  }
}

TEST(FramingTest, OtherExpectationsAreRefused) {
  ServerFixture fixture;

  const HttpReply reply = fetch(fixture.port(), "POST", "/tokenize", kBody, "Expect: 200-ok\r\n");

  expect_error(reply, 417, "expectation_failed");
}

TEST(FramingTest, Http10GetsNeither100NorKeepAlive) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send("POST /tokenize HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: " +
                  std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody));

  const HttpReply reply = read_reply(connection);
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
}

TEST(FramingTest, ConnectionGoesOnAfterARefusalBeforeTheBody) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(make_request("POST", "/nope", kBody) + make_request("GET", "/health"));

  EXPECT_EQ(read_reply(connection).status, 404);
  EXPECT_EQ(read_reply(connection).status, 200);
}

TEST(FramingTest, HeadLimitsHaveTheirOwnAnswers) {
  ServerFixture fixture;
  struct Case {
    std::string request;
    int status;
    const char* code;
  };
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "A: 1\r\n";
  for (const auto& [request, status, code] :
       {Case{make_request("GET", "/" + std::string(100000, 'a')), 414, "uri_too_long"},
        Case{make_request("GET", "/health", "", "A: " + std::string(100000, 'a') + "\r\n"), 431,
             "headers_too_large"},
        Case{make_request("GET", "/health", "", many), 431, "headers_too_large"}}) {
    RawConnection connection(fixture.port());
    connection.send(request);

    expect_error(read_reply(connection), status, code);
    EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
  }
  EXPECT_EQ(fetch(fixture.port(), "GET", "/health").status, 200);
}

// Time limits

TEST(TimeLimitTest, HeadThatDoesNotArriveIsTimedOut) {
  ServerFixture fixture(quick_options());
  RawConnection connection(fixture.port());
  connection.send("GET /health HTTP/1.1\r\nHost:");

  expect_error(read_reply(connection), 408, "request_timeout");
  EXPECT_TRUE(connection.is_closed_within(RawConnection::kPatience));
  EXPECT_EQ(fixture.metrics().timeouts[HttpTimeout::kHeader].value(), 1);
}

TEST(TimeLimitTest, ConnectionWithoutAByteIsClosedWithoutAWord) {
  ServerFixture fixture(quick_options());
  RawConnection connection(fixture.port());

  EXPECT_EQ(connection.read_to_end(), "");
  EXPECT_TRUE(fixture.wait_until_no_connections());
}

TEST(TimeLimitTest, IdleConnectionIsClosedAfterItsAnswer) {
  ServerFixture fixture(quick_options());
  RawConnection connection(fixture.port());
  connection.send(make_request("GET", "/health"));

  EXPECT_EQ(read_reply(connection).status, 200);
  EXPECT_EQ(connection.read_to_end(), "");
  EXPECT_EQ(fixture.metrics().timeouts[HttpTimeout::kIdle].value(), 1);
}

TEST(TimeLimitTest, SlowHeadersDoNotHoldUpOthersAndAreClosed) {
  ServerFixture fixture(quick_options());
  std::vector<RawConnection> slow;
  for (int i = 0; i < 100; ++i) {
    slow.emplace_back(fixture.port());
    slow.back().send("GET /health HTTP/1.1\r\nHost: ");
  }

  EXPECT_EQ(fetch(fixture.port(), "GET", "/health").status, 200);
  for (RawConnection& connection : slow) {
    connection.send("a");
    EXPECT_EQ(read_reply(connection).status, 408);
  }
  slow.clear();
  EXPECT_TRUE(fixture.wait_until_no_connections());
}

// Connections

TEST(ConnectionTest, AboveTheBoundIsTold) {
  HttpOptions options = quick_options();
  options.max_connections = 2;
  options.header_timeout = std::chrono::seconds(30);
  ServerFixture fixture(options);
  RawConnection first(fixture.port());
  RawConnection second(fixture.port());
  first.send(make_request("GET", "/health"));
  second.send(make_request("GET", "/health"));
  ASSERT_EQ(read_reply(first).status, 200);
  ASSERT_EQ(read_reply(second).status, 200);

  RawConnection third(fixture.port());
  const HttpReply reply = read_reply(third);

  expect_error(reply, 503, "server_overloaded");
  EXPECT_TRUE(reply.has_header("retry-after"));
  EXPECT_TRUE(third.is_closed_within(RawConnection::kPatience));
}

TEST(ConnectionTest, GaugeReturnsToZeroHoweverConnectionsEnd) {
  ServerFixture fixture(quick_options());
  for (int i = 0; i < 20; ++i) {
    RawConnection finished(fixture.port());
    finished.finish_sending();
    RawConnection reset(fixture.port());
    reset.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{");
    reset.reset();
    RawConnection answered(fixture.port());
    answered.send(make_request("GET", "/health"));
    EXPECT_EQ(read_reply(answered).status, 200);
  }

  ASSERT_TRUE(fixture.wait_until_no_connections());
  EXPECT_EQ(fixture.metrics().connections.value(), 0);
}

TEST(ConnectionTest, AnswerIsDeliveredToAClientThatHasFinishedSending) {
  ServerFixture fixture;
  RawConnection connection(fixture.port());
  connection.send(make_request("GET", "/health"));
  connection.finish_sending();

  EXPECT_EQ(read_reply(connection).status, 200);
}

TEST(ServerLifeTest, StopClosesIdleConnectionsAtOnce) {
  HttpOptions options;
  options.header_timeout = std::chrono::hours(1);
  ServerFixture fixture(options);
  RawConnection connection(fixture.port());
  connection.send(make_request("GET", "/health"));
  ASSERT_EQ(read_reply(connection).status, 200);
  RawConnection silent(fixture.port());

  fixture.server().stop(std::chrono::hours(1));

  EXPECT_EQ(connection.read_to_end(), "");
  EXPECT_EQ(silent.read_to_end(), "");
}

TEST(ServerLifeTest, PortInUseIsOneLine) {
  ServerFixture fixture;
  SteadyClock clock;
  MetricsRegistry registry;
  HttpMetrics metrics(registry, http_route_labels());
  ServiceState service(clock);
  Logger logger(LogLevel::kOff, [](std::string_view) {});
  HttpOptions options;
  options.port = fixture.port();
  HttpServer server(
      options, HttpServerDependencies{service, metrics, [] { return ""; }, logger, clock, "", ""});

  const auto started = server.start();

  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, ErrorCode::kIo);
  EXPECT_EQ(
      started.error().message,
      "cannot listen on 127.0.0.1:" + std::to_string(fixture.port()) + ": Address already in use");
}

TEST(ServerLifeTest, AddressesBeyondLoopbackAreRefused) {
  SteadyClock clock;
  MetricsRegistry registry;
  HttpMetrics metrics(registry, http_route_labels());
  ServiceState service(clock);
  Logger logger(LogLevel::kOff, [](std::string_view) {});
  for (const char* host : {"0.0.0.0", "192.0.2.1", "::", "example"}) {
    HttpOptions options;
    options.host = host;
    HttpServer server(options, HttpServerDependencies{service, metrics, [] { return ""; }, logger,
                                                      clock, "", ""});
    EXPECT_EQ(server.start().error().code, ErrorCode::kBadConfig) << host;
  }
}

}  // namespace
}  // namespace paceline
