#include "http/middleware/trace_context.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "http/http_exchange.h"
#include "http/random_ids.h"

namespace paceline {
namespace {

// 00-<32 hex trace id>-<16 hex parent id>-<2 hex flags>
constexpr std::size_t kTraceparentSize = 55;

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_all_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

bool is_valid_traceparent(std::string_view text) {
  return text.size() == kTraceparentSize && text.starts_with("00-") && text[35] == '-' &&
         text[52] == '-' && is_lower_hex(text.substr(3, 32)) && is_lower_hex(text.substr(36, 16)) &&
         is_lower_hex(text.substr(53)) && !is_all_zero(text.substr(3, 32)) &&
         !is_all_zero(text.substr(36, 16));
}

}  // namespace

std::optional<HttpResponse> continue_trace(HttpExchange& exchange) {
  const auto header = exchange.request().find("traceparent");
  if (!header) return std::nullopt;
  RequestLog& log = exchange.log();
  log.span_id = random_hex(16);
  if (exchange.request().count("traceparent") != 1 || !is_valid_traceparent(*header)) {
    log.trace_id = random_hex(32);
    return std::nullopt;
  }
  log.trace_id = std::string(header->substr(3, 32));
  log.parent_span_id = std::string(header->substr(36, 16));
  exchange.add_header("traceparent", "00-" + *log.trace_id + "-" + *log.span_id + "-" +
                                         std::string(header->substr(53)));
  return std::nullopt;
}

}  // namespace paceline
