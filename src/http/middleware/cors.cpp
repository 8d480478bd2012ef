#include "http/middleware/cors.h"

#include <algorithm>
#include <string>

#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/server_context.h"

namespace paceline {
namespace {

constexpr std::string_view kExposedHeaders =
    "x-request-id, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, "
    "x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, "
    "x-ratelimit-reset-tokens, x-should-retry, x-paceline-ignored, x-paceline-priority, "
    "x-accel-buffering, x-content-type-options, retry-after, retry-after-ms, openai-processing-ms";

/// Value of access-control-allow-origin; nothing for an origin that is not listed.
std::optional<std::string> allowed_origin(const HttpExchange& exchange) {
  const auto& origins = exchange.context().options.cors_origins;
  const auto origin = exchange.request().find("origin");
  if (!origin || exchange.request().count("origin") != 1) return std::nullopt;
  if (std::find(origins.begin(), origins.end(), *origin) != origins.end()) {
    return std::string(*origin);
  }
  if (std::find(origins.begin(), origins.end(), "*") != origins.end()) return "*";
  return std::nullopt;
}

}  // namespace

std::optional<HttpResponse> add_cors_headers(HttpExchange& exchange) {
  const auto origin = allowed_origin(exchange);
  if (!origin) return std::nullopt;
  exchange.add_header("access-control-allow-origin", *origin);
  if (*origin != "*") exchange.add_header("vary", "origin");
  exchange.add_header("access-control-expose-headers", std::string(kExposedHeaders));
  return std::nullopt;
}

std::optional<HttpResponse> answer_preflight(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  const bool is_preflight = request.method == HttpMethod::kOptions &&
                            request.find("access-control-request-method").has_value();
  if (!is_preflight || exchange.context().options.cors_origins.empty()) return std::nullopt;
  HttpResponse response;
  response.status = 204;
  if (!allowed_origin(exchange)) return response;
  response.headers.push_back({"access-control-allow-methods", "GET, POST, DELETE"});
  if (const auto headers = request.find("access-control-request-headers")) {
    response.headers.push_back({"access-control-allow-headers", std::string(*headers)});
  }
  response.headers.push_back({"access-control-max-age", "600"});
  return response;
}

}  // namespace paceline
