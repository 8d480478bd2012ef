#include "http/openai/error_body.h"

#include <gtest/gtest.h>

namespace paceline::openai {
namespace {

TEST(ErrorBodyTest, EveryCodeHasTheRowOfTheContract) {
  using enum ErrorCode;
  struct Row {
    ErrorCode code;
    int status;
    std::string_view type;
    std::string_view name;
    std::string_view marks;  // r: retry-after, n: never retry, c: closes
  };
  const Row rows[] = {
      {kInvalidJson, 400, "invalid_request_error", "invalid_json", ""},
      {kMissingRequiredParameter, 400, "invalid_request_error", "missing_required_parameter", ""},
      {kInvalidType, 400, "invalid_request_error", "invalid_type", ""},
      {kInvalidValue, 400, "invalid_request_error", "invalid_value", ""},
      {kUnsupportedParameter, 400, "invalid_request_error", "unsupported_parameter", ""},
      {kUnknownParameter, 400, "invalid_request_error", "unknown_parameter", ""},
      {kInvalidSchema, 400, "invalid_request_error", "invalid_schema", ""},
      {kSchemaTooComplex, 400, "invalid_request_error", "schema_too_complex", ""},
      {kContextLengthExceeded, 400, "invalid_request_error", "context_length_exceeded", ""},
      {kKvCapacityExceeded, 400, "invalid_request_error", "kv_capacity_exceeded", ""},
      {kPreviousResponseNotFound, 400, "invalid_request_error", "previous_response_not_found", ""},
      {kPreviousResponseInProgress, 400, "invalid_request_error", "previous_response_in_progress",
       ""},
      {kInvalidStreamId, 400, "invalid_request_error", "invalid_stream_id", ""},
      {kWebsocketStreamLimitReached, 400, "invalid_request_error", "websocket_stream_limit_reached",
       ""},
      {kWebsocketConnectionLimitReached, 400, "invalid_request_error",
       "websocket_connection_limit_reached", ""},
      {kWebsocketQueueFull, 429, "requests", "websocket_queue_full", ""},
      {kMalformedRequest, 400, "invalid_request_error", "malformed_request", "c"},
      {kInvalidApiKey, 401, "invalid_request_error", "invalid_api_key", ""},
      {kTenantDisabled, 403, "permission_error", "tenant_disabled", ""},
      {kModelNotAllowed, 403, "permission_error", "model_not_allowed", ""},
      {kPermissionDenied, 403, "permission_error", "permission_denied", ""},
      {kOriginNotAllowed, 403, "permission_error", "origin_not_allowed", ""},
      {kModelNotFound, 404, "invalid_request_error", "model_not_found", ""},
      {kNotFound, 404, "invalid_request_error", "not_found", ""},
      {kResponseNotFound, 404, "invalid_request_error", "response_not_found", ""},
      {kRequestNotFound, 404, "invalid_request_error", "request_not_found", ""},
      {kMethodNotAllowed, 405, "invalid_request_error", "method_not_allowed", ""},
      {kRequestTimeout, 408, "invalid_request_error", "request_timeout", "c"},
      {kRequestTooLarge, 413, "invalid_request_error", "request_too_large", "c"},
      {kUriTooLong, 414, "invalid_request_error", "uri_too_long", "c"},
      {kHeadersTooLarge, 431, "invalid_request_error", "headers_too_large", "c"},
      {kUnsupportedMediaType, 415, "invalid_request_error", "unsupported_media_type", ""},
      {kExpectationFailed, 417, "invalid_request_error", "expectation_failed", "c"},
      {kUpgradeRequired, 426, "invalid_request_error", "upgrade_required", ""},
      {kNotImplemented, 501, "invalid_request_error", "not_implemented", "c"},
      {kRateLimitExceeded, 429, "requests", "rate_limit_exceeded", "r"},
      {kQueueFull, 429, "requests", "queue_full", "r"},
      {kInsufficientQuota, 429, "insufficient_quota", "insufficient_quota", "n"},
      {kServerOverloaded, 503, "server_error", "server_overloaded", "r"},
      {kQueueTimeout, 503, "server_error", "queue_timeout", "r"},
      {kDeadlineUnattainable, 503, "server_error", "deadline_unattainable", "r"},
      {kModelLoading, 503, "server_error", "model_loading", "r"},
      {kServerDraining, 503, "server_error", "server_draining", "r"},
      {kRequestCancelled, 503, "server_error", "request_cancelled", "n"},
      {kDeadlineExceeded, 504, "server_error", "deadline_exceeded", "n"},
      {kEngineError, 500, "server_error", "engine_error", ""},
      {kInternalError, 500, "server_error", "internal_error", ""},
      {kBadFile, 500, "server_error", "internal_error", ""},
      {kIo, 500, "server_error", "internal_error", ""},
      {kBadConfig, 500, "server_error", "internal_error", ""},
  };
  for (const Row& row : rows) {
    const ErrorKind kind = error_kind(row.code);
    EXPECT_EQ(kind.http_status, row.status) << row.name;
    EXPECT_EQ(kind.type, row.type) << row.name;
    EXPECT_EQ(kind.code, row.name);
    EXPECT_EQ(kind.retry_after, row.marks == "r") << row.name;
    EXPECT_EQ(kind.never_retry, row.marks == "n") << row.name;
    EXPECT_EQ(kind.closes, row.marks == "c") << row.name;
  }
}

TEST(ErrorBodyTest, HasExactlyTheFourKeys) {
  EXPECT_EQ(
      error_body({ErrorCode::kInvalidValue, "too \"big\"", "n"}),
      R"({"error":{"message":"too \"big\"","type":"invalid_request_error","param":"n","code":"invalid_value"}})");
  EXPECT_EQ(
      error_body({ErrorCode::kNotFound, "no such path"}),
      R"({"error":{"message":"no such path","type":"invalid_request_error","param":null,"code":"not_found"}})");
}

TEST(ErrorBodyTest, ModelNamesComeBackEscaped) {
  EXPECT_EQ(error_body({ErrorCode::kModelNotFound, "no model \"},\nx\xFF", "model"}),
            "{\"error\":{\"message\":\"no model "
            "\\\"},\\nx\xEF\xBF\xBD\",\"type\":\"invalid_request_error\","
            "\"param\":\"model\",\"code\":\"model_not_found\"}}");
}

TEST(ErrorBodyTest, InternalFailuresTellNothing) {
  const std::string body = error_body({ErrorCode::kIo, "cannot read some/secret/path"});

  EXPECT_EQ(body.find("secret"), std::string::npos);
}

TEST(ErrorBodyTest, WebsocketFrameCarriesLaneAndRetryTime) {
  using std::chrono::milliseconds;
  const std::string lane = "a";
  EXPECT_EQ(
      websocket_error({ErrorCode::kRateLimitExceeded, "slow down"}, &lane, milliseconds(1200)),
      R"({"type":"error","status":429,"stream_id":"a","error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"},"retry_after_ms":1200})");
  EXPECT_EQ(
      websocket_error({ErrorCode::kInvalidValue, "bad", "type"}, nullptr, milliseconds(5)),
      R"({"type":"error","status":400,"stream_id":null,"error":{"message":"bad","type":"invalid_request_error","param":"type","code":"invalid_value"}})");
}

}  // namespace
}  // namespace paceline::openai
