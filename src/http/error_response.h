#pragma once

#include <chrono>
#include <optional>

#include "base/error.h"
#include "http/http_message.h"

namespace paceline {

class HttpMetrics;
class ServiceState;

/// Returns the answer for an error with every header its row of API.md §1.1 asks for, except those
/// that need the request (`allow`).
[[nodiscard]] HttpResponse error_response(const Error& error, const ServiceState& service);

/// When to try again (API.md §8.4), for codes whose row says so: from the measured backlog and
/// speed, 1 s … 300 s.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(ErrorCode code,
                                                                   const ServiceState& service);

/// Counts an error answer or frame, and the refusal if it is one.
void count_error(HttpMetrics& metrics, ErrorCode code);

}  // namespace paceline
