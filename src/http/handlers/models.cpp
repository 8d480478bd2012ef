#include "http/handlers/models.h"

#include <string>
#include <vector>

#include "http/http_exchange.h"
#include "http/openai/plain_answers.h"
#include "http/server_context.h"
#include "http/service_state.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

openai::ModelEntry make_entry(const ServedModel& model, const std::string& name) {
  openai::ModelEntry entry;
  entry.id = name;
  entry.root = model.id;
  entry.created = model.created;
  entry.max_model_len = model.max_context;
  return entry;
}

}  // namespace

asio::awaitable<void> ModelsHandler::handle(HttpExchange& exchange) const {
  std::vector<openai::ModelEntry> entries;
  if (const auto model = exchange.context().service.model()) {
    entries.push_back(make_entry(*model, model->id));
    for (const auto& alias : model->aliases) entries.push_back(make_entry(*model, alias));
  }
  HttpResponse response = json_response(200, openai::write_model_list(entries));
  co_await exchange.send(std::move(response));
}

asio::awaitable<void> ModelHandler::handle(HttpExchange& exchange) const {
  const auto model = exchange.context().service.model();
  if (!model || !model->is_called(exchange.path_id)) {
    Error error{ErrorCode::kModelNotFound, "there is no such model"};
    co_await exchange.send_error(std::move(error));
    co_return;
  }
  HttpResponse response =
      json_response(200, openai::write_model(make_entry(*model, exchange.path_id)));
  co_await exchange.send(std::move(response));
}

}  // namespace paceline
