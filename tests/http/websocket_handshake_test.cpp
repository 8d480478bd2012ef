#include "http/websocket_handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace paceline {
namespace {

HttpRequest good_handshake() {
  HttpRequest request;
  request.method = HttpMethod::kGet;
  request.headers = {{"Host", "127.0.0.1:8000"},
                     {"Upgrade", "WebSocket"},
                     {"Connection", "keep-alive, Upgrade"},
                     {"Sec-WebSocket-Version", "13"},
                     {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  return request;
}

HttpRequest with(std::string name, std::string value) {
  HttpRequest request = good_handshake();
  const auto old = std::find_if(request.headers.begin(), request.headers.end(),
                                [&](const HttpHeader& header) { return header.name == name; });
  if (old != request.headers.end()) request.headers.erase(old);
  if (!value.empty()) request.headers.push_back({std::move(name), std::move(value)});
  return request;
}

ErrorCode refusal(const HttpRequest& request) {
  const auto key = check_websocket_handshake(request);
  return key ? ErrorCode::kInternalError : key.error().code;
}

TEST(WebsocketHandshakeTest, GoodOneGivesItsKey) {
  EXPECT_EQ(check_websocket_handshake(good_handshake()).value(), "dGhlIHNhbXBsZSBub25jZQ==");
}

TEST(WebsocketHandshakeTest, MissingPartsAreRefused) {
  EXPECT_EQ(refusal(with("Upgrade", "")), ErrorCode::kUpgradeRequired);
  EXPECT_EQ(refusal(with("Upgrade", "h2c")), ErrorCode::kUpgradeRequired);
  EXPECT_EQ(refusal(with("Connection", "keep-alive")), ErrorCode::kUpgradeRequired);
  EXPECT_EQ(refusal(with("Sec-WebSocket-Version", "")), ErrorCode::kUpgradeRequired);
  EXPECT_EQ(refusal(with("Sec-WebSocket-Version", "8")), ErrorCode::kUpgradeRequired);
  HttpRequest old = good_handshake();
  old.minor_version = 0;
  EXPECT_EQ(refusal(old), ErrorCode::kMalformedRequest);
}

TEST(WebsocketHandshakeTest, KeyIs16BytesOnce) {
  for (const char* key :
       {"", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===",
        "dGhlIHNhbXBsZSBub25jZ===", "dGhl IHNhbXBsZSBub25jZ==", "dGhlIHNhbXBsZSBub25jZWU="}) {
    EXPECT_EQ(refusal(with("Sec-WebSocket-Key", key)), ErrorCode::kMalformedRequest) << key;
  }
  HttpRequest twice = good_handshake();
  twice.headers.push_back({"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="});
  EXPECT_EQ(refusal(twice), ErrorCode::kMalformedRequest);
}

TEST(WebsocketHandshakeTest, OriginIsAbsentListedOrTheServersOwn) {
  const std::vector<std::string> origins{"https://app.example"};
  const std::vector<std::string> hosts{"llm.example"};
  const auto accepts = [&](std::string origin, std::string host) {
    HttpRequest request = with("Host", std::move(host));
    if (!origin.empty()) request.headers.push_back({"Origin", std::move(origin)});
    return check_websocket_origin(request, origins, hosts).has_value();
  };

  EXPECT_TRUE(accepts("", "127.0.0.1:8000"));
  EXPECT_TRUE(accepts("https://app.example", "127.0.0.1:8000"));
  EXPECT_TRUE(accepts("http://127.0.0.1:8000", "127.0.0.1:8000"));
  EXPECT_TRUE(accepts("http://[::1]:8000", "[::1]:8000"));
  EXPECT_TRUE(accepts("http://localhost:8000", "LOCALHOST:8000"));
  EXPECT_TRUE(accepts("https://llm.example", "llm.example"));
  EXPECT_FALSE(accepts("https://evil.example", "127.0.0.1:8000"));
  EXPECT_FALSE(accepts("null", "127.0.0.1:8000"));
  EXPECT_FALSE(accepts("http://127.0.0.1:9000", "127.0.0.1:8000"));
  EXPECT_FALSE(accepts("ftp://127.0.0.1:8000", "127.0.0.1:8000"));
  EXPECT_FALSE(accepts("http://evil.example", "evil.example")) << "a name may be rebound";
}

}  // namespace
}  // namespace paceline
