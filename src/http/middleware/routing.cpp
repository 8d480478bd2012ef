#include "http/middleware/routing.h"

#include <string>

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/router.h"
#include "http/server_context.h"

namespace paceline {
namespace {

HttpResponse options_response(std::string allow) {
  HttpResponse response;
  response.status = 204;
  response.headers.push_back({"allow", std::move(allow)});
  return response;
}

HttpResponse method_not_allowed(const HttpExchange& exchange, std::string allow) {
  HttpResponse response =
      error_response(Error{ErrorCode::kMethodNotAllowed, "this path does not serve the method"},
                     exchange.context().service);
  response.headers.push_back({"allow", std::move(allow)});
  return response;
}

}  // namespace

std::optional<HttpResponse> find_route(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  if (request.path.empty()) {  // `*`, or the target of CONNECT
    const std::string allow = "GET, HEAD, POST, DELETE, OPTIONS";
    if (request.method == HttpMethod::kOptions) return options_response(allow);
    return method_not_allowed(exchange, allow);
  }
  auto match = exchange.context().router.match(request);
  if (!match) return error_response(match.error(), exchange.context().service);
  const bool is_websocket_route = match->route != nullptr && match->route->is_websocket;
  if (request.is_websocket_upgrade() && !is_websocket_route &&
      request.path != std::vector<std::string>{"v1", "responses"}) {
    return error_response(Error{ErrorCode::kNotFound, "there is no WebSocket at this path"},
                          exchange.context().service);
  }
  if (request.method == HttpMethod::kOptions) return options_response(std::move(match->allow));
  if (match->route == nullptr) return method_not_allowed(exchange, std::move(match->allow));
  exchange.route = match->route;
  exchange.handler = match->handler;
  exchange.path_id = std::move(match->path_id);
  exchange.log().route = match->route->label;
  exchange.log().api = label_value(match->route->api);
  return std::nullopt;
}

}  // namespace paceline
