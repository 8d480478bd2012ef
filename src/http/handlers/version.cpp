#include "http/handlers/version.h"

#include <string>

#include "http/http_exchange.h"
#include "http/openai/json_writer.h"
#include "http/server_context.h"
#include "http/service_state.h"

namespace paceline {

namespace asio = boost::asio;

asio::awaitable<void> VersionHandler::handle(HttpExchange& exchange) const {
  const ServerContext& context = exchange.context();
  const auto model = context.service.model();
  std::string body;
  openai::JsonWriter json(body);
  json.begin_object().string("name", "paceline");
  json.string("version", context.version).string("commit", context.commit);
  json.string_or_null("isa", model ? &model->isa : nullptr);
  json.string_or_null("weights", model ? &model->weights : nullptr);
  json.string_or_null("kv", model ? &model->kv : nullptr);
  json.string_or_null("model", model ? &model->id : nullptr);
  json.end_object();
  HttpResponse response = json_response(200, std::move(body));
  co_await exchange.send(std::move(response));
}

}  // namespace paceline
