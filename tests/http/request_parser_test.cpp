#include "http/request_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "http/http_options.h"

namespace paceline {
namespace {

const HttpOptions kOptions;

/// What one request's bytes were taken for.
struct Parsed {
  HttpRequest request;
  std::string body;
  bool keep_alive = false;
  bool is_complete = false;
  std::optional<ErrorCode> error;
  std::size_t rest = 0;  ///< bytes behind the request
};

/// Feeds the bytes as a connection would, `step` at a time.
Parsed parse(const std::string& bytes, std::size_t step) {
  RequestParser parser(kOptions);
  Parsed parsed;
  std::string input;
  bool has_head = false;
  for (std::size_t next = 0; next < bytes.size() && !parsed.is_complete;) {
    input += bytes.substr(next, step);
    next += step;
    if (!has_head) {
      const auto size = parser.parse_head(input);
      if (!size) {
        parsed.error = size.error().code;
        return parsed;
      }
      if (*size == 0) continue;
      has_head = true;
      parsed.request = parser.take_request();
      parsed.keep_alive = parser.keep_alive();
      input.erase(0, *size);
    }
    while (!parser.is_body_complete() && !input.empty()) {
      const auto used = parser.parse_body(input, parsed.body);
      if (!used) {
        parsed.error = used.error().code;
        return parsed;
      }
      input.erase(0, *used);
      if (*used == 0) break;
    }
    parsed.is_complete = parser.is_body_complete();
    parsed.rest = input.size() + (next < bytes.size() ? bytes.size() - next : 0);
  }
  return parsed;
}

TEST(RequestParserTest, RequestIsTheSameHoweverItsBytesArrive) {
  const std::string bytes =
      "POST /v1/models?q HTTP/1.1\r\nHost: a\r\nX-Some: Value\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const Parsed parsed = parse(bytes, step);

    ASSERT_TRUE(parsed.is_complete) << step;
    EXPECT_EQ(parsed.request.method, HttpMethod::kPost);
    EXPECT_EQ(parsed.request.path, (std::vector<std::string>{"v1", "models"}));
    EXPECT_EQ(parsed.request.find("x-some"), "Value");
    EXPECT_EQ(parsed.body, "hello");
    EXPECT_TRUE(parsed.keep_alive);
  }
}

TEST(RequestParserTest, ChunksExtensionsAndTrailersAreDecodedHoweverTheyArrive) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1\r\nh\r\nA;a=b;c=\"d\"\r\nello world\r\n0\r\nX-Trailer: x\r\n\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const Parsed parsed = parse(bytes, step);

    ASSERT_TRUE(parsed.is_complete) << step;
    EXPECT_EQ(parsed.body, "hello world") << step;
    EXPECT_EQ(parsed.request.find("x-trailer"), std::nullopt) << step;
  }
}

TEST(RequestParserTest, BytesBehindTheBodyStayInTheInput) {
  const std::string next = "GET / HTTP/1.1\r\n\r\n";
  const std::string sized = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}" + next;
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + next;

  for (const std::string& bytes : {sized, chunked}) {
    const Parsed parsed = parse(bytes, bytes.size());

    EXPECT_EQ(parsed.body, "{}");
    EXPECT_EQ(parsed.rest, next.size());
  }
}

TEST(RequestParserTest, BadChunksAreRefused) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";

  EXPECT_EQ(parse(bytes, bytes.size()).error, ErrorCode::kMalformedRequest);
}

TEST(RequestParserTest, HeadsThatAreNotHttp1AreRefused) {
  for (const char* line : {"GET / HTTP/2.0", "GET / HTTP/0.9", "GET /", "GET  / HTTP/1.1",
                           "GET / HTTP/1.1 x", "G\x01T / HTTP/1.1", "GET / http/1.1", "",
                           " GET / HTTP/1.1", "GET /% HTTP/1.1", "GET x HTTP/1.1"}) {
    const std::string bytes = std::string(line) + "\r\nHost: a\r\n\r\n";

    EXPECT_EQ(parse(bytes, bytes.size()).error, ErrorCode::kMalformedRequest) << line;
  }
}

TEST(RequestParserTest, ControlBytesInHeadersAreRefused) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: a\x02\x62\r\n\r\n";

  EXPECT_EQ(parse(bytes, bytes.size()).error, ErrorCode::kMalformedRequest);
}

TEST(RequestParserTest, KeepAliveFollowsVersionAndConnection) {
  const auto keep_alive = [](const std::string& version, const std::string& connection) {
    const std::string bytes = "GET / HTTP/" + version + "\r\nHost: a\r\n" + connection + "\r\n";
    return parse(bytes, bytes.size()).keep_alive;
  };

  EXPECT_TRUE(keep_alive("1.1", ""));
  EXPECT_FALSE(keep_alive("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keep_alive("1.0", ""));
  EXPECT_TRUE(keep_alive("1.0", "Connection: keep-alive\r\n"));
}

TEST(RequestParserTest, MethodsOutsideTheRoutesAreKnownAsOther) {
  for (const char* line : {"TRACE / HTTP/1.1", "PUT / HTTP/1.1", "CONNECT h:443 HTTP/1.1",
                           "BREW / HTTP/1.1", "get / HTTP/1.1"}) {
    const std::string bytes = std::string(line) + "\r\nHost: a\r\n\r\n";
    const Parsed parsed = parse(bytes, bytes.size());

    EXPECT_EQ(parsed.error, std::nullopt) << line;
    EXPECT_EQ(parsed.request.method, HttpMethod::kOther) << line;
  }
}

}  // namespace
}  // namespace paceline
