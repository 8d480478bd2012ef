#include "http/middleware/media_type.h"

#include <string_view>

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/server_context.h"

namespace paceline {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Whether a parameter such as `charset=utf-8` leaves the type what the server reads.
bool is_served_parameter(std::string_view parameter) {
  const std::size_t equals = parameter.find('=');
  if (!equals_ignoring_case(trimmed(parameter.substr(0, equals)), "charset")) return true;
  if (equals == std::string_view::npos) return false;
  const std::string_view value = trimmed(parameter.substr(equals + 1));
  return equals_ignoring_case(value, "utf-8") || equals_ignoring_case(value, "\"utf-8\"");
}

bool is_json(std::string_view content_type) {
  std::size_t semicolon = content_type.find(';');
  if (!equals_ignoring_case(trimmed(content_type.substr(0, semicolon)), "application/json")) {
    return false;
  }
  while (semicolon != std::string_view::npos) {
    content_type.remove_prefix(semicolon + 1);
    semicolon = content_type.find(';');
    if (!is_served_parameter(content_type.substr(0, semicolon))) return false;
  }
  return true;
}

}  // namespace

std::optional<HttpResponse> check_media_type(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  if (request.method != HttpMethod::kPost) return std::nullopt;
  const std::string_view type = request.find("content-type").value_or("application/json");
  const std::string_view coding = request.find("content-encoding").value_or("identity");
  const bool is_served = is_json(type) && equals_ignoring_case(coding, "identity") &&
                         request.count("content-type") <= 1 &&
                         request.count("content-encoding") <= 1;
  if (is_served) return std::nullopt;
  return error_response(Error{ErrorCode::kUnsupportedMediaType,
                              "a body must be application/json in UTF-8, without content coding"},
                        exchange.context().service);
}

}  // namespace paceline
