#include "http/handlers/health.h"

#include <string>

#include "http/http_exchange.h"
#include "http/server_context.h"
#include "http/service_state.h"

namespace paceline {

namespace asio = boost::asio;

asio::awaitable<void> HealthHandler::handle(HttpExchange& exchange) const {
  HttpResponse response = json_response(200, R"({"status":"ok"})");
  co_await exchange.send(std::move(response));
}

asio::awaitable<void> ReadyHandler::handle(HttpExchange& exchange) const {
  const ServiceStatus status = exchange.context().service.status();
  const std::string body = R"({"status":")" + std::string(to_string(status)) + R"("})";
  HttpResponse response = json_response(status == ServiceStatus::kReady ? 200 : 503, body);
  co_await exchange.send(std::move(response));
}

}  // namespace paceline
