#include "http/error_response.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "http/openai/error_body.h"
#include "http/service_state.h"
#include "metrics/http_metrics.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMinRetry{1000};
constexpr milliseconds kMaxRetry{300000};
// A drain or a load is not measured: five seconds is long enough for either to have moved on.
constexpr milliseconds kLifeCycleRetry{5000};

milliseconds backlog_time(const ServiceState& service) {
  const auto model = service.model();
  if (!model) return kLifeCycleRetry;
  const auto snapshot = model->engine->snapshot();
  const double seconds =
      static_cast<double>(snapshot->waiting_tokens) / std::max(snapshot->tokens_per_second, 1.0);
  return milliseconds(static_cast<std::int64_t>(std::min(seconds, 300.0) * 1000));
}

std::optional<RejectReason> reject_reason(ErrorCode code) {
  switch (code) {
    case ErrorCode::kQueueFull:
      return RejectReason::kQueueFull;
    case ErrorCode::kServerOverloaded:
      return RejectReason::kServerOverloaded;
    case ErrorCode::kInsufficientQuota:
      return RejectReason::kQuota;
    case ErrorCode::kDeadlineUnattainable:
      return RejectReason::kDeadline;
    case ErrorCode::kServerDraining:
      return RejectReason::kDraining;
    case ErrorCode::kModelLoading:
      return RejectReason::kLoading;
    case ErrorCode::kContextLengthExceeded:
      return RejectReason::kContextLength;
    case ErrorCode::kKvCapacityExceeded:
      return RejectReason::kKvCapacity;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<milliseconds> retry_after(ErrorCode code, const ServiceState& service) {
  if (!openai::error_kind(code).retry_after) return std::nullopt;
  const bool is_life_cycle = code == ErrorCode::kModelLoading || code == ErrorCode::kServerDraining;
  const milliseconds time = is_life_cycle ? kLifeCycleRetry : backlog_time(service);
  return std::clamp(time, kMinRetry, kMaxRetry);
}

HttpResponse error_response(const Error& error, const ServiceState& service) {
  const openai::ErrorKind kind = openai::error_kind(error.code);
  HttpResponse response = json_response(kind.http_status, openai::error_body(error));
  response.error_code = error.code;
  if (const auto retry = retry_after(error.code, service)) {
    const auto seconds = (retry->count() + 999) / 1000;
    response.headers.push_back({"retry-after", std::to_string(seconds)});
    response.headers.push_back({"retry-after-ms", std::to_string(retry->count())});
  }
  if (kind.never_retry) response.headers.push_back({"x-should-retry", "false"});
  if (error.code == ErrorCode::kInvalidApiKey) {
    response.headers.push_back({"www-authenticate", "Bearer"});
  }
  if (error.code == ErrorCode::kUpgradeRequired) {
    response.headers.push_back({"upgrade", "websocket"});
    response.headers.push_back({"sec-websocket-version", "13"});
  }
  return response;
}

void count_error(HttpMetrics& metrics, ErrorCode code) {
  metrics.count_error(code);
  if (const auto reason = reject_reason(code)) metrics.requests_rejected[*reason].add();
}

}  // namespace paceline
