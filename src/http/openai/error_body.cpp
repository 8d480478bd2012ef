#include "http/openai/error_body.h"

#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

constexpr std::string_view kInvalidRequest = "invalid_request_error";
constexpr std::string_view kPermission = "permission_error";
constexpr std::string_view kServer = "server_error";

struct Row {
  int http_status;
  std::string_view type;
  bool retry_after = false;
  bool never_retry = false;
  bool closes = false;
};

constexpr Row bad_request() { return {400, kInvalidRequest}; }
constexpr Row closing(int status) { return {status, kInvalidRequest, false, false, true}; }
constexpr Row overload() { return {503, kServer, true}; }

Row row(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidJson:
    case ErrorCode::kMissingRequiredParameter:
    case ErrorCode::kInvalidType:
    case ErrorCode::kInvalidValue:
    case ErrorCode::kUnsupportedParameter:
    case ErrorCode::kUnknownParameter:
    case ErrorCode::kInvalidSchema:
    case ErrorCode::kSchemaTooComplex:
    case ErrorCode::kContextLengthExceeded:
    case ErrorCode::kKvCapacityExceeded:
    case ErrorCode::kPreviousResponseNotFound:
    case ErrorCode::kPreviousResponseInProgress:
    case ErrorCode::kInvalidStreamId:
    case ErrorCode::kWebsocketStreamLimitReached:
    case ErrorCode::kWebsocketConnectionLimitReached:
      return bad_request();
    case ErrorCode::kWebsocketQueueFull:
      return {429, "requests"};
    case ErrorCode::kMalformedRequest:
      return closing(400);
    case ErrorCode::kInvalidApiKey:
      return {401, kInvalidRequest};
    case ErrorCode::kTenantDisabled:
    case ErrorCode::kModelNotAllowed:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kOriginNotAllowed:
      return {403, kPermission};
    case ErrorCode::kModelNotFound:
    case ErrorCode::kNotFound:
    case ErrorCode::kResponseNotFound:
    case ErrorCode::kRequestNotFound:
      return {404, kInvalidRequest};
    case ErrorCode::kMethodNotAllowed:
      return {405, kInvalidRequest};
    case ErrorCode::kRequestTimeout:
      return closing(408);
    case ErrorCode::kRequestTooLarge:
      return closing(413);
    case ErrorCode::kUriTooLong:
      return closing(414);
    case ErrorCode::kHeadersTooLarge:
      return closing(431);
    case ErrorCode::kUnsupportedMediaType:
      return {415, kInvalidRequest};
    case ErrorCode::kExpectationFailed:
      return closing(417);
    case ErrorCode::kUpgradeRequired:
      return {426, kInvalidRequest};
    case ErrorCode::kNotImplemented:
      return closing(501);
    case ErrorCode::kRateLimitExceeded:
    case ErrorCode::kQueueFull:
      return {429, "requests", true};
    case ErrorCode::kInsufficientQuota:
      return {429, "insufficient_quota", false, true};
    case ErrorCode::kServerOverloaded:
    case ErrorCode::kQueueTimeout:
    case ErrorCode::kDeadlineUnattainable:
    case ErrorCode::kModelLoading:
    case ErrorCode::kServerDraining:
      return overload();
    case ErrorCode::kRequestCancelled:
      return {503, kServer, false, true};
    case ErrorCode::kDeadlineExceeded:
      return {504, kServer, false, true};
    case ErrorCode::kEngineError:
    case ErrorCode::kInternalError:
    case ErrorCode::kBadFile:
    case ErrorCode::kIo:
    case ErrorCode::kDiskFull:
    case ErrorCode::kBadConfig:
      return {500, kServer};
  }
  return {500, kServer};
}

/// Failures of files and configuration are no client's business.
bool is_internal(ErrorCode code) {
  return code == ErrorCode::kBadFile || code == ErrorCode::kIo || code == ErrorCode::kDiskFull ||
         code == ErrorCode::kBadConfig;
}

}  // namespace

ErrorKind error_kind(ErrorCode code) {
  const Row found = row(code);
  return {.http_status = found.http_status,
          .type = found.type,
          .code = to_string(is_internal(code) ? ErrorCode::kInternalError : code),
          .retry_after = found.retry_after,
          .never_retry = found.never_retry,
          .closes = found.closes};
}

void append_error_object(std::string& out, const Error& error) {
  const ErrorKind kind = error_kind(error.code);
  JsonWriter json(out);
  json.begin_object()
      .string("message", is_internal(error.code) ? "internal error" : error.message)
      .string("type", kind.type)
      .string_or_null("param", error.param.empty() ? nullptr : &error.param)
      .string("code", kind.code)
      .end_object();
}

std::string error_body(const Error& error) {
  std::string out = R"({"error":)";
  append_error_object(out, error);
  out += '}';
  return out;
}

std::string websocket_error(const Error& error, const std::string* stream_id,
                            std::optional<std::chrono::milliseconds> retry_after) {
  const ErrorKind kind = error_kind(error.code);
  std::string object;
  append_error_object(object, error);
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .string("type", "error")
      .integer("status", kind.http_status)
      .string_or_null("stream_id", stream_id)
      .raw("error", object);
  if (kind.retry_after && retry_after) json.integer("retry_after_ms", retry_after->count());
  json.end_object();
  return out;
}

}  // namespace paceline::openai
