#include "http/handlers/tokenize.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "chat/chat_template.h"
#include "http/handlers/request_parsing.h"
#include "http/http_exchange.h"
#include "http/openai/plain_answers.h"
#include "http/openai/tokenize_request.h"
#include "http/server_context.h"
#include "http/service_state.h"
#include "http/worker_queue.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

using ModelPointer = std::shared_ptr<const ServedModel>;

/// The model if it is loaded; these calls need no engine and are served while draining.
Result<ModelPointer> loaded_model(const HttpExchange& exchange) {
  if (auto model = exchange.context().service.model()) return model;
  return fail(ErrorCode::kModelLoading, "the model is still loading");
}

Result<std::string> tokenize(const ServedModel& model, const openai::TokenizeRequest& request) {
  std::vector<TokenId> ids;
  if (const auto* text = std::get_if<openai::TextPrompt>(&request.prompt)) {
    ids = model.tokenizer->encode(text->text,
                                  text->parse_special ? SpecialText::kParse : SpecialText::kPlain);
  } else {
    const auto& chat = std::get<openai::ChatPrompt>(request.prompt);
    const auto segments = model.chat_template->render(chat.messages, chat.template_options);
    if (!segments) return tl::unexpected(segments.error());
    ids = model.tokenizer->encode_segments(*segments);
  }
  std::vector<std::string_view> texts;
  if (request.return_token_strs) {
    for (const TokenId id : ids) texts.push_back(model.tokenizer->token_bytes(id));
  }
  return openai::write_tokens(ids, model.max_context, request.return_token_strs ? &texts : nullptr);
}

Result<std::string> detokenize(const ServedModel& model, const openai::DetokenizeRequest& request) {
  const std::string bytes = model.tokenizer->decode(request.tokens, request.skip_special_tokens);
  return openai::write_prompt(to_lossy_utf8(bytes));
}

Result<std::string> apply_template(const ServedModel& model,
                                   const openai::ApplyTemplateRequest& request) {
  const auto segments =
      model.chat_template->render(request.prompt.messages, request.prompt.template_options);
  if (!segments) return tl::unexpected(segments.error());
  return openai::write_prompt(joined_text(*segments));
}

template <typename Request>
using Parser = Result<Request> (*)(std::string_view, const openai::ParseContext&);
template <typename Request>
using Answerer = Result<std::string> (*)(const ServedModel&, const Request&);

/// Parses the body and answers it on a worker.
template <typename Request>
asio::awaitable<Result<std::string>> make_answer(HttpExchange& exchange, Parser<Request> parse,
                                                 Answerer<Request> answer) {
  const auto model = loaded_model(exchange);
  if (!model) co_return tl::unexpected(model.error());
  auto request = co_await parse_body<Request>(exchange, *model, parse);
  if (!request) co_return tl::unexpected(request.error());
  if (request->model && !(*model)->is_called(*request->model)) {
    co_return tl::unexpected(model_not_found(*request->model));
  }
  auto work = [model = *model, request = std::move(*request), answer] {
    return answer(*model, request);
  };
  auto body = co_await exchange.context().workers.run(exchange.principal.tenant, std::move(work));
  co_return body;
}

asio::awaitable<void> send_result(HttpExchange& exchange, Result<std::string> body) {
  if (!body) {
    co_await exchange.send_error(std::move(body.error()));
    co_return;
  }
  HttpResponse response = json_response(200, std::move(*body));
  co_await exchange.send(std::move(response));
}

}  // namespace

asio::awaitable<void> TokenizeHandler::handle(HttpExchange& exchange) const {
  auto body = co_await make_answer<openai::TokenizeRequest>(
      exchange, openai::parse_tokenize_request, tokenize);
  co_await send_result(exchange, std::move(body));
}

asio::awaitable<void> DetokenizeHandler::handle(HttpExchange& exchange) const {
  auto body = co_await make_answer<openai::DetokenizeRequest>(
      exchange, openai::parse_detokenize_request, detokenize);
  co_await send_result(exchange, std::move(body));
}

asio::awaitable<void> ApplyTemplateHandler::handle(HttpExchange& exchange) const {
  auto body = co_await make_answer<openai::ApplyTemplateRequest>(
      exchange, openai::parse_apply_template_request, apply_template);
  co_await send_result(exchange, std::move(body));
}

}  // namespace paceline
