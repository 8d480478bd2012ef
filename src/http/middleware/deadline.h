#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Reads x-request-timeout-ms into the exchange. The field `timeout_ms` of a body wins over it.
std::optional<HttpResponse> read_timeout_header(HttpExchange& exchange);

}  // namespace paceline
