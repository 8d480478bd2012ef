#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Adds the CORS headers for a listed origin to whatever is answered (API.md §1.5).
std::optional<HttpResponse> add_cors_headers(HttpExchange& exchange);
/// Answers a preflight request; without `http.cors_origins` there are none.
std::optional<HttpResponse> answer_preflight(HttpExchange& exchange);

}  // namespace paceline
