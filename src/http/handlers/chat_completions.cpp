#include "http/handlers/chat_completions.h"

#include <memory>
#include <utility>
#include <vector>

#include "http/handlers/generation_call.h"
#include "http/handlers/request_parsing.h"
#include "http/http_exchange.h"
#include "http/openai/chat_request.h"
#include "http/openai/chat_writer.h"
#include "http/server_context.h"
#include "http/sse_writer.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

class ChatShape final : public AnswerShape {
 public:
  ChatShape(const openai::AnswerIdentity& identity, const openai::AnswerOptions& options,
            int num_choices, std::vector<TokenId> prompt_ids)
      : identity_(identity),
        options_(options),
        prompt_ids_(std::move(prompt_ids)),
        writer_(identity, options, num_choices, prompt_ids_) {}

  void write_events(const GenerationEvent& event, SseWriter& sse) override {
    writer_.write(event, [&sse](std::string_view json) { sse.event(json); });
  }
  std::string body(const openai::GenerationResult& result) override {
    return openai::write_chat_completion(identity_, options_, result, prompt_ids_);
  }

 private:
  openai::AnswerIdentity identity_;
  openai::AnswerOptions options_;
  std::vector<TokenId> prompt_ids_;
  openai::ChatStreamWriter writer_;
};

std::unique_ptr<AnswerShape> make_chat_shape(const openai::AnswerIdentity& identity,
                                             const openai::AnswerOptions& options,
                                             const GenerationRequest& request) {
  std::vector<TokenId> prompt_ids;
  if (options.return_token_ids) prompt_ids = request.prompts.front();
  return std::make_unique<ChatShape>(identity, options, request.sampling.n, std::move(prompt_ids));
}

}  // namespace

asio::awaitable<void> ChatCompletionsHandler::handle(HttpExchange& exchange) const {
  auto model = exchange.context().service.accepting_model();
  if (!model) {
    co_await exchange.send_error(std::move(model.error()));
    co_return;
  }
  auto request =
      co_await parse_body<openai::ChatRequest>(exchange, *model, openai::parse_chat_request);
  if (!request) {
    co_await exchange.send_error(std::move(request.error()));
    co_return;
  }
  GenerationCall call;
  call.model = std::move(*model);
  call.fields = std::move(request->fields);
  call.stream = request->stream;
  call.prompt = ConversationPrompt{std::move(request->prompt.messages),
                                   std::move(request->prompt.template_options)};
  call.prompt_param = "messages";
  call.id_kind = openai::IdKind::kChat;
  co_await run_generation_call(exchange, std::move(call), make_chat_shape);
}

}  // namespace paceline
