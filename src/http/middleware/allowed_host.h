#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Refuses a Host that `http.allowed_hosts` does not name, with or without its port.
std::optional<HttpResponse> check_host(HttpExchange& exchange);

}  // namespace paceline
