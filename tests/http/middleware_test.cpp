#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/http/server_fixture.h"
#include "tests/support/http_client.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kBody = R"({"prompt":"Hello"})";
constexpr std::string_view kPreflight =
    "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
    "Access-Control-Request-Headers: authorization,content-type,x-stainless-lang\r\n";

TEST(RequestIdTest, ValidClientIdIsUsedAndOthersAreReplaced) {
  ServerFixture fixture;
  const auto id_for = [&fixture](const std::string& header) {
    return fetch(fixture.port(), "GET", "/health", "", header).header("x-request-id");
  };

  EXPECT_EQ(id_for("X-Request-Id: a.B_c-1\r\n"), "a.B_c-1");
  EXPECT_THAT(id_for("X-Request-Id: a b\r\n"), StartsWith("req_"));
  EXPECT_THAT(id_for("X-Request-Id: " + std::string(129, 'a') + "\r\n"), StartsWith("req_"));
  EXPECT_THAT(id_for("X-Request-Id: a\r\nX-Request-Id: b\r\n"), StartsWith("req_"));
  EXPECT_EQ(id_for("").size(), 28U);
  EXPECT_NE(id_for(""), id_for(""));
}

TEST(TraceContextTest, ValidTraceIsContinuedWithAnotherSpan) {
  ServerFixture fixture;
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  const HttpReply reply = fetch(fixture.port(), "GET", "/health", "",
                                "traceparent: 00-" + trace + "-b7ad6b7169203331-01\r\n");

  const std::string header = reply.header("traceparent");
  ASSERT_EQ(header.size(), 55U);
  EXPECT_THAT(header, StartsWith("00-" + trace + "-"));
  EXPECT_EQ(header.substr(52), "-01");
  EXPECT_NE(header.substr(36, 16), "b7ad6b7169203331");
  ASSERT_TRUE(fixture.wait_until_no_connections());  // the line is written after the answer
  EXPECT_THAT(fixture.log_lines().back(),
              HasSubstr("\"trace_id\":\"" + trace + "\",\"span_id\":\"" + header.substr(36, 16) +
                        "\",\"parent_span_id\":\"b7ad6b7169203331\""));
}

TEST(TraceContextTest, InvalidTraceIsNotEchoed) {
  ServerFixture fixture;
  for (const char* value : {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x"}) {
    const HttpReply reply =
        fetch(fixture.port(), "GET", "/health", "", "traceparent: " + std::string(value) + "\r\n");

    EXPECT_FALSE(reply.has_header("traceparent")) << value;
  }
}

TEST(CorsTest, WithoutConfigurationNoHeaderIsSent) {
  ServerFixture fixture;

  const HttpReply preflight =
      fetch(fixture.port(), "OPTIONS", "/v1/chat/completions", "", kPreflight);
  const HttpReply get =
      fetch(fixture.port(), "GET", "/health", "", "Origin: http://localhost:3000\r\n");

  EXPECT_FALSE(preflight.has_header("access-control-allow-origin"));
  EXPECT_FALSE(get.has_header("access-control-allow-origin"));
}

TEST(CorsTest, ListedOriginGetsPreflightAnswersAndErrorsWithHeaders) {
  HttpOptions options;
  options.cors_origins = {"http://localhost:3000"};
  ServerFixture fixture(options);

  const HttpReply preflight =
      fetch(fixture.port(), "OPTIONS", "/v1/chat/completions", "", kPreflight);
  const HttpReply error = fetch(fixture.port(), "POST", "/v1/chat/completions", "{}",
                                "Origin: http://localhost:3000\r\n");

  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "http://localhost:3000");
  EXPECT_EQ(preflight.header("access-control-allow-headers"),
            "authorization,content-type,x-stainless-lang");
  EXPECT_THAT(preflight.header("access-control-allow-methods"), HasSubstr("POST"));
  EXPECT_EQ(preflight.header("access-control-max-age"), "600");
  EXPECT_EQ(preflight.header("vary"), "origin");
  EXPECT_EQ(error.status, 503);
  EXPECT_EQ(error.header("access-control-allow-origin"), "http://localhost:3000");
  EXPECT_FALSE(error.has_header("access-control-allow-credentials"));
}

TEST(CorsTest, UnlistedOriginGetsNothing) {
  HttpOptions options;
  options.cors_origins = {"http://localhost:3000"};
  ServerFixture fixture(options);

  const HttpReply reply =
      fetch(fixture.port(), "GET", "/health", "", "Origin: https://evil.example\r\n");

  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.has_header("access-control-allow-origin"));
}

TEST(CorsTest, StarAllowsEveryOriginWithoutNamingIt) {
  HttpOptions options;
  options.cors_origins = {"*"};
  ServerFixture fixture(options);

  const HttpReply reply =
      fetch(fixture.port(), "GET", "/health", "", "Origin: https://a.example\r\n");

  EXPECT_EQ(reply.header("access-control-allow-origin"), "*");
}

TEST(AllowedHostTest, OtherHostsAreRefused) {
  HttpOptions options;
  options.allowed_hosts = {"api.example"};
  ServerFixture fixture(options);
  const auto status_for = [&fixture](const std::string& host) {
    RawConnection connection(fixture.port());
    connection.send("GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return read_reply(connection).status;
  };

  EXPECT_EQ(status_for("api.example"), 200);
  EXPECT_EQ(status_for("API.example:8000"), 200);
  EXPECT_EQ(status_for("evil.example"), 403);
  EXPECT_EQ(status_for("127.0.0.1"), 403);
}

TEST(MediaTypeTest, OnlyJsonInUtf8IsTaken) {
  ServerFixture fixture;
  const auto status_for = [&fixture](const std::string& headers) {
    return fetch(fixture.port(), "POST", "/tokenize", kBody, headers).status;
  };

  EXPECT_EQ(status_for(""), 503);
  EXPECT_EQ(status_for("Content-Type: application/json\r\n"), 503);
  EXPECT_EQ(status_for("Content-Type: Application/JSON; charset=UTF-8\r\n"), 503);
  EXPECT_EQ(status_for("Content-Encoding: identity\r\n"), 503);
  EXPECT_EQ(status_for("Content-Type: text/plain\r\n"), 415);
  EXPECT_EQ(status_for("Content-Type: application/json; charset=latin1\r\n"), 415);
  EXPECT_EQ(status_for("Content-Type: application/x-www-form-urlencoded\r\n"), 415);
  EXPECT_EQ(status_for("Content-Encoding: gzip\r\n"), 415);
}

TEST(MetricsAuthTest, AdminOnlyMetricsAreClosedWithoutATenantsFile) {
  HttpOptions options;
  options.metrics_auth = MetricsAuth::kAdmin;
  ServerFixture fixture(options);

  EXPECT_EQ(fetch(fixture.port(), "GET", "/metrics").status, 403);
}

TEST(TimeoutHeaderTest, ValueOutsideTheRangeIsRefused) {
  ServerFixture fixture;
  for (const char* value : {"0", "-1", "3600001", "x", "1.5", "1e3", ""}) {
    const HttpReply reply = fetch(fixture.port(), "POST", "/tokenize", kBody,
                                  "X-Request-Timeout-Ms: " + std::string(value) + "\r\n");

    EXPECT_EQ(reply.status, 400) << value;
    EXPECT_THAT(reply.body, HasSubstr("\"param\":\"x-request-timeout-ms\"")) << value;
  }
}

TEST(AccessLogTest, OneLinePerRequestAlsoForRefusedOnes) {
  ServerFixture fixture;
  {
    RawConnection connection(fixture.port());
    connection.send(make_request("GET", "/v1/models?key=secret", "",
                                 "Authorization: Bearer secret\r\nX-Client-Request-Id: c1\r\n") +
                    make_request("POST", "/nope?key=secret", "secret"));
    EXPECT_EQ(read_reply(connection).status, 200);
    EXPECT_EQ(read_reply(connection).status, 404);
  }

  ASSERT_TRUE(fixture.wait_until_no_connections());
  const auto lines = fixture.log_lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("\"client_request_id\":\"c1\""));
  EXPECT_THAT(lines[0], HasSubstr("\"tenant\":\"anonymous\""));
  EXPECT_THAT(lines[0], HasSubstr("\"route\":\"GET /v1/models\""));
  EXPECT_THAT(lines[0], HasSubstr("\"peer\":\"127.0.0.1\""));
  EXPECT_THAT(lines[0], HasSubstr("\"status\":200,\"code\":null"));
  EXPECT_THAT(lines[1], HasSubstr("\"tenant\":null"));
  EXPECT_THAT(lines[1], HasSubstr("\"route\":\"other\""));
  EXPECT_THAT(lines[1], HasSubstr("\"status\":404,\"code\":\"not_found\""));
  for (const auto& line : lines) EXPECT_THAT(line, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace paceline
