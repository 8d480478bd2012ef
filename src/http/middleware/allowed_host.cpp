#include "http/middleware/allowed_host.h"

#include <algorithm>
#include <string_view>

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/http_options.h"
#include "http/server_context.h"

namespace paceline {
namespace {

/// `example.org:8000` → `example.org`, `[::1]:8000` → `[::1]`.
std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return host;
  if (bracket != std::string_view::npos && colon < bracket) return host;
  return host.substr(0, colon);
}

}  // namespace

std::optional<HttpResponse> check_host(HttpExchange& exchange) {
  const auto& allowed = exchange.context().options.allowed_hosts;
  if (allowed.empty()) return std::nullopt;
  const std::string_view host = exchange.request().find("host").value_or("");
  const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [host](const auto& name) {
    return equals_ignoring_case(host, name) || equals_ignoring_case(without_port(host), name);
  });
  if (is_allowed) return std::nullopt;
  return error_response(Error{ErrorCode::kOriginNotAllowed, "this Host is not served"},
                        exchange.context().service);
}

}  // namespace paceline
