#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Gives the request its ids: the own `req_…` one, and x-request-id, which is the client's when it
/// is valid (API.md §1.2).
std::optional<HttpResponse> assign_request_id(HttpExchange& exchange);

}  // namespace paceline
