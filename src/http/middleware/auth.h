#pragma once

#include <optional>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// Finds out whose request it is (API.md §1.4). Without a tenants file everybody is tenant
/// `anonymous`, nobody is an administrator, and the server listens on loopback only.
std::optional<HttpResponse> authenticate(HttpExchange& exchange);

}  // namespace paceline
