#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "http/http_exchange.h"
#include "http/openai/parse_context.h"
#include "http/server_context.h"
#include "http/service_state.h"
#include "http/worker_queue.h"

namespace paceline {

/// Bodies up to this size are parsed where they arrive: about 100 µs, less than the way to a worker
/// and back under load.
inline constexpr std::size_t kMaxInlineBody = 65536;

/// What the parsers need to know about model and server.
[[nodiscard]] openai::ParseContext make_parse_context(const ServerContext& context,
                                                      const ServedModel& model);

/// Parses the body of the request, which is used up, with one of the parsers of http/openai; on a
/// worker when it is large. Errors: those of the parser; kServerOverloaded.
template <typename Request>
[[nodiscard]] boost::asio::awaitable<Result<Request>> parse_body(
    HttpExchange& exchange, std::shared_ptr<const ServedModel> model,
    Result<Request> (*parse)(std::string_view, const openai::ParseContext&)) {
  std::string body = std::move(exchange.request().body);
  openai::ParseContext context = make_parse_context(exchange.context(), *model);
  if (body.size() <= kMaxInlineBody) co_return parse(body, context);
  auto work = [parse, body = std::move(body), context = std::move(context)] {
    return parse(body, context);
  };
  auto result = co_await exchange.context().workers.run(exchange.principal.tenant, std::move(work));
  co_return result;
}

/// Error for a name that no model has.
[[nodiscard]] Error model_not_found(std::string_view name);

}  // namespace paceline
