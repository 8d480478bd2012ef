#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "http/http_message.h"

namespace paceline {

class HttpExchange;

/// One check or note about a request; an answer ends the request there.
struct Middleware {
  std::string_view name;
  std::optional<HttpResponse> (*run)(HttpExchange& exchange);
};

/// What happens between a head and the reading of its body, in order.
[[nodiscard]] std::span<const Middleware> middleware_before_body();
/// What happens between the body and the handler, in order.
[[nodiscard]] std::span<const Middleware> middleware_after_body();

/// Runs a list; returns the first answer.
[[nodiscard]] std::optional<HttpResponse> run_middleware(std::span<const Middleware> list,
                                                         HttpExchange& exchange);

}  // namespace paceline
