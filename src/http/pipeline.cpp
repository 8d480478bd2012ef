#include "http/pipeline.h"

#include <array>

#include "http/middleware/allowed_host.h"
#include "http/middleware/auth.h"
#include "http/middleware/body_limit.h"
#include "http/middleware/cors.h"
#include "http/middleware/deadline.h"
#include "http/middleware/media_type.h"
#include "http/middleware/request_id.h"
#include "http/middleware/routing.h"
#include "http/middleware/service_status.h"
#include "http/middleware/trace_context.h"

namespace paceline {
namespace {

// The order is that of the checks in API.md §1.1.
constexpr std::array kBeforeBody{
    // First: every answer, errors too, carries x-request-id.
    Middleware{"request_id", assign_request_id},
    // Before anything can fail, so that a refused request is found in the trace as well.
    Middleware{"trace_context", continue_trace},
    // Before anything can fail: a page may only read an error that carries the CORS headers.
    Middleware{"cors", add_cors_headers},
    // A wrong Host is refused whatever it asks for.
    Middleware{"allowed_host", check_host},
    // A preflight comes without a key and for any path.
    Middleware{"preflight", answer_preflight},
    // 404 before 405, both before the key; OPTIONS of a known path ends here.
    Middleware{"routing", find_route},
    // Before the body is read, so that strangers cannot make the server read one.
    Middleware{"auth", authenticate},
    // Loading or draining: refused before a body is sent in vain.
    Middleware{"service_status", check_service_status},
    // Declared size and Expect, before `100 Continue` invites the body.
    Middleware{"body_limit", check_declared_body},
};

constexpr std::array kAfterBody{
    // After the body was read: 413 and 408 come before 415.
    Middleware{"media_type", check_media_type},
    // A header field, checked with the fields of the body.
    Middleware{"deadline", read_timeout_header},
};

}  // namespace

std::span<const Middleware> middleware_before_body() { return kBeforeBody; }
std::span<const Middleware> middleware_after_body() { return kAfterBody; }

std::optional<HttpResponse> run_middleware(std::span<const Middleware> list,
                                           HttpExchange& exchange) {
  for (const Middleware& middleware : list) {
    if (auto response = middleware.run(exchange)) return response;
  }
  return std::nullopt;
}

}  // namespace paceline
