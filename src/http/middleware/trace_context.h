#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Continues a valid traceparent with a new span id and notes it for the log; an invalid one is
/// replaced by a fresh trace. Source: W3C Trace Context, version 00.
std::optional<HttpResponse> continue_trace(HttpExchange& exchange);

}  // namespace paceline
