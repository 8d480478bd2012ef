#pragma once

#include <cstddef>
#include <optional>

#include "base/error.h"
#include "http/http_message.h"

namespace paceline {

class HttpExchange;
struct HttpOptions;
struct Route;

/// Refuses a body whose declared size is above the route's limit, and an Expect that is not
/// `100-continue`.
std::optional<HttpResponse> check_declared_body(HttpExchange& exchange);
/// Bytes a body of the route may have.
[[nodiscard]] std::size_t body_limit(const Route& route, const HttpOptions& options);
/// The refusal of a larger one.
[[nodiscard]] Error body_too_large(std::size_t limit);

}  // namespace paceline
