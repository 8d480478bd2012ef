#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Refuses generation work while the model loads or the server drains.
std::optional<HttpResponse> check_service_status(HttpExchange& exchange);

}  // namespace paceline
