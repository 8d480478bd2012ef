#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metrics/registry.h"

namespace paceline {

/// Series counted by the HTTP side: errors, refusals, HTTP, WebSocket, store and tokenising
/// families of API.md §9. Members are handles; counting may come from any thread. Owned by the app,
/// outlives the server.
class HttpMetrics {
 public:
  /// `routes`: label values of the routes, as `POST /v1/chat/completions`, in the router's order;
  /// `other` is added.
  HttpMetrics(MetricsRegistry& registry, std::span<const std::string_view> routes);
  HttpMetrics(const HttpMetrics&) = delete;
  HttpMetrics& operator=(const HttpMetrics&) = delete;

  /// Counts an answered request. `route`: index into the routes; anything beyond is `other`.
  /// `status`: 200 … 599; 101 counts as 2xx.
  void count_request(std::size_t route, int status);
  /// Counts an error answer or frame; kinds that no client can see are ignored.
  void count_error(ErrorCode code);
  /// Counts a closed WebSocket by its close code; codes outside API.md §5.3 count as `other`.
  void count_ws_close(int code);

  PerLabel<RejectReason, Counter> requests_rejected;
  PerLabel<HttpApi, Histogram> request_duration;
  Gauge connections;
  Counter request_bytes;
  Counter response_bytes;
  PerLabel<HttpTimeout, Counter> timeouts;
  Histogram tokenize_seconds;

  Gauge ws_connections;
  Gauge ws_lanes;
  Counter ws_connections_total;
  Histogram ws_connection_duration;
  PerLabel<WsDirection, Counter> ws_messages;

  Gauge stored_responses;
  Gauge stored_response_bytes;
  PerLabel<StoreEviction, Counter> stored_responses_evicted;

 private:
  std::vector<PerLabel<StatusClass, Counter>> requests_;  // by route, then `other`
  std::vector<Counter> errors_;                           // by ErrorCode
  std::vector<Counter> ws_closes_;                        // by kWsCloseCodes, then `other`
};

}  // namespace paceline
