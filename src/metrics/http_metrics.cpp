#include "metrics/http_metrics.h"

#include <algorithm>
#include <array>

#include "metrics/buckets.h"

namespace paceline {
namespace {

constexpr std::array kWsCloseCodes{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1013};

// Codes up to the last fault are visible to clients; file and start-up errors follow them.
constexpr std::size_t kNumClientErrorCodes =
    static_cast<std::size_t>(ErrorCode::kInternalError) + 1;

}  // namespace

HttpMetrics::HttpMetrics(MetricsRegistry& registry, std::span<const std::string_view> routes) {
  const auto add_route = [&](std::string_view route) {
    requests_.push_back(registry.counters<StatusClass>("paceline_http_requests_total",
                                                       "Answered requests.", "class",
                                                       {{"route", std::string(route)}}));
  };
  for (const std::string_view route : routes) add_route(route);
  add_route("other");
  for (std::size_t i = 0; i < kNumClientErrorCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    errors_.push_back(registry.counter("paceline_errors_total", "Error answers and frames.",
                                       {{"code", std::string(to_string(code))}}));
  }
  requests_rejected = registry.counters<RejectReason>(
      "paceline_requests_rejected_total", "Requests refused before they were accepted.", "reason");
  request_duration = registry.histograms<HttpApi>(
      "paceline_http_request_duration_seconds", "First byte of a request to the end of its answer.",
      buckets::kE2e, "api");
  connections = registry.gauge("paceline_http_connections", "Open connections.");
  request_bytes = registry.counter("paceline_http_request_bytes_total", "Bytes received.");
  response_bytes = registry.counter("paceline_http_response_bytes_total", "Bytes sent.");
  timeouts = registry.counters<HttpTimeout>("paceline_http_timeouts_total",
                                            "Connections ended by a time limit.", "kind");
  tokenize_seconds = registry.histogram(
      "paceline_tokenize_seconds", "Template and tokenising of a request.", buckets::kTokenize);

  ws_connections = registry.gauge("paceline_ws_connections", "Open WebSocket connections.");
  ws_lanes = registry.gauge("paceline_ws_lanes", "Open WebSocket lanes.");
  ws_connections_total =
      registry.counter("paceline_ws_connections_total", "WebSocket connections accepted.");
  ws_connection_duration =
      registry.histogram("paceline_ws_connection_duration_seconds",
                         "Life of a WebSocket connection.", buckets::kWsConnection);
  ws_messages = registry.counters<WsDirection>("paceline_ws_messages_total", "WebSocket messages.",
                                               "direction");
  stored_responses = registry.gauge("paceline_stored_responses", "Finished responses kept.");
  stored_response_bytes =
      registry.gauge("paceline_stored_response_bytes", "Bytes of the responses kept.");
  stored_responses_evicted = registry.counters<StoreEviction>(
      "paceline_stored_responses_evicted_total", "Responses given up.", "cause");
  const auto add_close = [&](std::string code) {
    ws_closes_.push_back(registry.counter(
        "paceline_ws_closes_total", "Closed WebSocket connections.", {{"code", std::move(code)}}));
  };
  for (const int code : kWsCloseCodes) add_close(std::to_string(code));
  add_close("other");
}

void HttpMetrics::count_request(std::size_t route, int status) {
  const int klass = std::clamp(status / 100, 2, 5) - 2;
  requests_[std::min(route, requests_.size() - 1)][static_cast<StatusClass>(klass)].add();
}

void HttpMetrics::count_error(ErrorCode code) {
  const auto i = static_cast<std::size_t>(code);
  if (i < errors_.size()) errors_[i].add();
}

void HttpMetrics::count_ws_close(int code) {
  const auto* found = std::find(kWsCloseCodes.begin(), kWsCloseCodes.end(), code);
  ws_closes_[static_cast<std::size_t>(found - kWsCloseCodes.begin())].add();
}

}  // namespace paceline
