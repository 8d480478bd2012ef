#include "http/middleware/request_id.h"

#include <algorithm>
#include <string>

#include "http/http_exchange.h"
#include "http/random_ids.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxIdBytes = 128;

bool is_valid_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

/// The header's value when there is exactly one and it is valid.
std::optional<std::string> client_id(const HttpRequest& request, std::string_view header) {
  const auto value = request.find(header);
  if (!value || request.count(header) != 1 || !is_valid_id(*value)) return std::nullopt;
  return std::string(*value);
}

}  // namespace

std::optional<HttpResponse> assign_request_id(HttpExchange& exchange) {
  RequestLog& log = exchange.log();
  log.id = random_object_id(openai::IdKind::kRequest);
  log.request_id = client_id(exchange.request(), "x-request-id").value_or(log.id);
  log.client_request_id = client_id(exchange.request(), "x-client-request-id");
  exchange.add_header("x-request-id", log.request_id);
  return std::nullopt;
}

}  // namespace paceline
