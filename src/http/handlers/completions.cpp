#include "http/handlers/completions.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "http/handlers/generation_call.h"
#include "http/handlers/request_parsing.h"
#include "http/http_exchange.h"
#include "http/openai/completion_request.h"
#include "http/openai/completion_writer.h"
#include "http/server_context.h"
#include "http/sse_writer.h"

namespace paceline {

namespace asio = boost::asio;

namespace {

class CompletionShape final : public AnswerShape {
 public:
  CompletionShape(const openai::AnswerIdentity& identity, const openai::AnswerOptions& options,
                  bool echo, int num_choices, std::vector<openai::PromptText> prompts)
      : identity_(identity),
        options_(options),
        echo_(echo),
        prompts_(std::move(prompts)),
        writer_(identity, options, echo, num_choices, prompts_) {}

  void write_events(const GenerationEvent& event, SseWriter& sse) override {
    writer_.write(event, [&sse](std::string_view json) { sse.event(json); });
  }
  std::string body(const openai::GenerationResult& result) override {
    return openai::write_completion(identity_, options_, echo_, result, prompts_);
  }

 private:
  openai::AnswerIdentity identity_;
  openai::AnswerOptions options_;
  bool echo_;
  std::vector<openai::PromptText> prompts_;
  openai::CompletionStreamWriter writer_;
};

/// The prompts as echo and return_token_ids show them.
std::vector<openai::PromptText> prompt_texts(const Tokenizer& tokenizer,
                                             const std::vector<std::vector<TokenId>>& prompts) {
  std::vector<openai::PromptText> texts;
  for (const auto& ids : prompts) {
    openai::PromptText text;
    text.text = to_lossy_utf8(tokenizer.decode(ids, false));
    text.ids = ids;
    text.first_token = std::string(tokenizer.token_bytes(ids.front()));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

asio::awaitable<void> CompletionsHandler::handle(HttpExchange& exchange) const {
  auto model = exchange.context().service.accepting_model();
  if (!model) {
    co_await exchange.send_error(std::move(model.error()));
    co_return;
  }
  auto request = co_await parse_body<openai::CompletionRequest>(exchange, *model,
                                                                openai::parse_completion_request);
  if (!request) {
    co_await exchange.send_error(std::move(request.error()));
    co_return;
  }
  GenerationCall call;
  call.model = std::move(*model);
  call.fields = std::move(request->fields);
  call.stream = request->stream;
  call.prompt = std::move(request->prompts);
  call.prompt_param = "prompt";
  call.prompt_logprobs = request->echo && call.fields.sampling.logprobs;
  call.id_kind = openai::IdKind::kCompletion;
  ShapeMaker make_shape = [echo = request->echo, tokenizer = call.model->tokenizer](
                              const openai::AnswerIdentity& identity,
                              const openai::AnswerOptions& options,
                              const GenerationRequest& generation) {
    const int num_choices = static_cast<int>(generation.prompts.size()) * generation.sampling.n;
    return std::make_unique<CompletionShape>(identity, options, echo, num_choices,
                                             prompt_texts(*tokenizer, generation.prompts));
  };
  co_await run_generation_call(exchange, std::move(call), std::move(make_shape));
}

}  // namespace paceline
