#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Refuses a POST body that is not JSON in UTF-8, and any content coding.
std::optional<HttpResponse> check_media_type(HttpExchange& exchange);

}  // namespace paceline
