#include "http/router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/request_target.h"

namespace paceline {
namespace {

class NoHandler final : public HttpHandler {
 public:
  boost::asio::awaitable<void> handle(HttpExchange&) const override { co_return; }
};

/// A router where every route is served.
class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    for (const Route& route : routes()) {
      router.set_handler(route.id, std::make_unique<NoHandler>());
    }
  }

  Result<RouteMatch> match(HttpMethod method, const std::string& target) {
    HttpRequest request;
    request.method = method;
    request.path = parse_request_target(target).value().path;
    return router.match(request);
  }

  Router router;
};

TEST_F(RouterTest, EveryRouteIsFoundByItsMethodAndPath) {
  for (const Route& route : routes()) {
    std::string path(route.label.substr(route.label.find('/')));
    if (const auto id = path.find("{id}"); id != std::string::npos) path.replace(id, 4, "abc");
    if (path.ends_with('*')) path.replace(path.size() - 1, 1, "a/b");
    const auto found = match(route.method, path);

    ASSERT_TRUE(found.has_value()) << route.label;
    ASSERT_NE(found->route, nullptr) << route.label;
    EXPECT_EQ(found->route->label, route.label);
  }
}

TEST_F(RouterTest, UnknownPathIsNotFoundWhateverTheMethod) {
  for (const char* target : {"/nope", "/v1/models/", "//v1/models", "/v1%2Fmodels", "/V1/models",
                             "/v1", "/ui", "/v1/models/a/b", "/../etc/passwd"}) {
    for (const HttpMethod method : {HttpMethod::kGet, HttpMethod::kOther}) {
      const auto found = match(method, target);

      ASSERT_FALSE(found.has_value()) << target;
      EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
    }
  }
}

TEST_F(RouterTest, WrongMethodOfAKnownPathListsTheRightOnes) {
  const auto chat = match(HttpMethod::kGet, "/v1/chat/completions");
  const auto models = match(HttpMethod::kPost, "/v1/models");
  const auto response = match(HttpMethod::kPost, "/v1/responses/abc");
  const auto responses = match(HttpMethod::kDelete, "/v1/responses");

  EXPECT_EQ(chat->route, nullptr);
  EXPECT_EQ(chat->allow, "POST, OPTIONS");
  EXPECT_EQ(models->allow, "GET, HEAD, OPTIONS");
  EXPECT_EQ(response->allow, "GET, DELETE, HEAD, OPTIONS");
  EXPECT_EQ(responses->allow, "POST, GET, OPTIONS");
}

TEST_F(RouterTest, HeadIsServedWhereGetIsExceptOnTheWebSocketPath) {
  EXPECT_NE(match(HttpMethod::kHead, "/health")->route, nullptr);
  EXPECT_NE(match(HttpMethod::kHead, "/v1/models/a")->route, nullptr);
  EXPECT_EQ(match(HttpMethod::kHead, "/v1/responses")->route, nullptr);
}

TEST_F(RouterTest, IdIsTheDecodedSegment) {
  EXPECT_EQ(match(HttpMethod::kGet, "/v1/models/a%2Fb%20c")->path_id, "a/b c");
}

TEST_F(RouterTest, FixedSegmentWinsOverAnId) {
  EXPECT_EQ(match(HttpMethod::kPost, "/v1/responses/input_tokens")->route->id,
            RouteId::kInputTokens);
}

TEST(EmptyRouterTest, RouteWithoutAHandlerDoesNotExist) {
  const Router router;
  HttpRequest request;
  request.method = HttpMethod::kGet;
  request.path = {"health"};

  EXPECT_FALSE(router.match(request).has_value());
}

}  // namespace
}  // namespace paceline
