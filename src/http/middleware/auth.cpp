#include "http/middleware/auth.h"

#include "http/connection.h"
#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/router.h"
#include "http/server_context.h"

namespace paceline {
namespace {

/// Whether only an administrator may use the route.
bool needs_admin(const HttpExchange& exchange) {
  if (exchange.route->access == RouteAccess::kAdmin) return true;
  if (exchange.route->access != RouteAccess::kMetrics) return false;
  switch (exchange.context().options.metrics_auth) {
    case MetricsAuth::kOpen:
      return false;
    case MetricsAuth::kLoopback:
      return !exchange.connection().is_peer_loopback();
    case MetricsAuth::kAdmin:
      return true;
  }
  return true;
}

}  // namespace

std::optional<HttpResponse> authenticate(HttpExchange& exchange) {
  if (needs_admin(exchange)) {
    return error_response(
        Error{ErrorCode::kPermissionDenied, "without a tenants file there is no administrator"},
        exchange.context().service);
  }
  exchange.log().tenant = exchange.principal.tenant_name;
  exchange.log().key_id = exchange.principal.key_id;
  return std::nullopt;
}

}  // namespace paceline
