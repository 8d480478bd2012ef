#include "http/middleware/body_limit.h"

#include <string>

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/router.h"
#include "http/server_context.h"

namespace paceline {

std::size_t body_limit(const Route& route, const HttpOptions& options) {
  return route.has_small_body ? options.max_token_body_bytes : options.max_body_bytes;
}

Error body_too_large(std::size_t limit) {
  return Error{ErrorCode::kRequestTooLarge,
               "the body is larger than " + std::to_string(limit) + " bytes"};
}

std::optional<HttpResponse> check_declared_body(HttpExchange& exchange) {
  const ServerContext& context = exchange.context();
  const std::size_t limit = body_limit(*exchange.route, context.options);
  if (exchange.declared_body_size && *exchange.declared_body_size > limit) {
    return error_response(body_too_large(limit), context.service);
  }
  const auto expect = exchange.request().find("expect");
  if (expect && !equals_ignoring_case(*expect, "100-continue")) {
    return error_response(
        Error{ErrorCode::kExpectationFailed, "the only expectation served is 100-continue"},
        context.service);
  }
  return std::nullopt;
}

}  // namespace paceline
