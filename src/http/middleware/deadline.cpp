#include "http/middleware/deadline.h"

#include <charconv>
#include <chrono>

#include "http/error_response.h"
#include "http/http_exchange.h"
#include "http/server_context.h"

namespace paceline {
namespace {

constexpr std::string_view kHeader = "x-request-timeout-ms";
constexpr int kMaxTimeoutMs = 3600000;

}  // namespace

std::optional<HttpResponse> read_timeout_header(HttpExchange& exchange) {
  const auto text = exchange.request().find(kHeader);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < 1 ||
      value > kMaxTimeoutMs) {
    return error_response(
        Error{ErrorCode::kInvalidValue, "x-request-timeout-ms must be a number from 1 to 3600000",
              std::string(kHeader)},
        exchange.context().service);
  }
  exchange.timeout = std::chrono::milliseconds(value);
  return std::nullopt;
}

}  // namespace paceline
