#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace paceline {

/// Every kind of expected failure. The ones that clients can see have the names of API.md §1.1;
/// their HTTP status and type strings live in http/openai/error_body.
enum class ErrorCode {
  // request contents
  kInvalidJson,
  kMissingRequiredParameter,
  kInvalidType,
  kInvalidValue,
  kUnsupportedParameter,
  kUnknownParameter,
  kInvalidSchema,
  kSchemaTooComplex,
  kContextLengthExceeded,
  kKvCapacityExceeded,
  kPreviousResponseNotFound,
  kPreviousResponseInProgress,
  kInvalidStreamId,
  kWebsocketStreamLimitReached,
  kWebsocketConnectionLimitReached,
  kWebsocketQueueFull,
  // HTTP
  kMalformedRequest,
  kInvalidApiKey,
  kTenantDisabled,
  kModelNotAllowed,
  kPermissionDenied,
  kOriginNotAllowed,
  kModelNotFound,
  kNotFound,
  kResponseNotFound,
  kRequestNotFound,
  kMethodNotAllowed,
  kRequestTimeout,
  kRequestTooLarge,
  kUriTooLong,
  kHeadersTooLarge,
  kUnsupportedMediaType,
  kExpectationFailed,
  kUpgradeRequired,
  kNotImplemented,
  // limits and capacity
  kRateLimitExceeded,
  kQueueFull,
  kInsufficientQuota,
  kServerOverloaded,
  kQueueTimeout,
  kDeadlineUnattainable,
  kModelLoading,
  kServerDraining,
  kRequestCancelled,
  kDeadlineExceeded,
  // faults
  kEngineError,
  kInternalError,
  // files and start-up (never sent to a client)
  kBadFile,
  kIo,
  kDiskFull,
  kBadConfig,
};

/// A failure with a message for the person who will read it.
struct Error {
  ErrorCode code;
  std::string message;
  /// Offending request field, as a path such as `messages[2].role`; empty when there is none.
  std::string param = {};
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Makes the failure branch of any Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string param = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(param)});
}

/// Returns the snake_case name of a code as clients see it, such as `invalid_value`.
[[nodiscard]] std::string_view to_string(ErrorCode code);

}  // namespace paceline
