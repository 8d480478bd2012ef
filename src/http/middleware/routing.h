#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Finds route and handler: 404, then 405; answers OPTIONS with the methods of the path.
std::optional<HttpResponse> find_route(HttpExchange& exchange);

}  // namespace paceline
