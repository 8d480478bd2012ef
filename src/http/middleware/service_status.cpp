#include "http/middleware/service_status.h"

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/router.h"
#include "http/server_context.h"
#include "http/service_state.h"

namespace paceline {

std::optional<HttpResponse> check_service_status(HttpExchange& exchange) {
  if (!exchange.route->is_generation) return std::nullopt;
  const auto model = exchange.context().service.accepting_model();
  if (model) return std::nullopt;
  return error_response(model.error(), exchange.context().service);
}

}  // namespace paceline
