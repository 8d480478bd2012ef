#include "http/handlers/metrics.h"

#include <string>

#include "http/http_exchange.h"
#include "http/server_context.h"
#include "metrics/exposition.h"

namespace paceline {

namespace asio = boost::asio;

asio::awaitable<void> MetricsHandler::handle(HttpExchange& exchange) const {
  HttpResponse response;
  response.headers.push_back({"content-type", std::string(kExpositionContentType)});
  response.body = exchange.context().expose_metrics();
  co_await exchange.send(std::move(response));
}

}  // namespace paceline
