#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "http/generation_answer.h"
#include "http/generation_service.h"
#include "http/openai/answer.h"
#include "http/openai/generation_fields.h"
#include "http/openai/object_ids.h"
#include "http/request_log.h"

namespace paceline {

class HttpExchange;

/// A parsed request of chat or completions, on its way to an answer.
struct GenerationCall {
  std::shared_ptr<const ServedModel> model;
  openai::GenerationFields fields;
  openai::StreamFields stream;
  PromptSource prompt;
  std::string prompt_param;
  bool prompt_logprobs = false;
  openai::IdKind id_kind = openai::IdKind::kChat;
};

/// Makes the shape of an answer once the prompt is tokenised.
using ShapeMaker = std::function<std::unique_ptr<AnswerShape>(
    const openai::AnswerIdentity& identity, const openai::AnswerOptions& options,
    const GenerationRequest& request)>;

/// Checks the model's name, tokenises, hands the request to the engine and sends the answer or the
/// error.
[[nodiscard]] boost::asio::awaitable<void> run_generation_call(HttpExchange& exchange,
                                                               GenerationCall call,
                                                               ShapeMaker make_shape);

/// Notes what the access log says about a request's fields.
void note_generation_fields(RequestLog& log, const openai::GenerationFields& fields, bool is_stream,
                            int num_choices);
/// The priority in force: as asked, but no better than the tenant may use.
[[nodiscard]] int effective_priority(const openai::GenerationFields& fields);
/// Adds x-paceline-ignored and x-paceline-priority where they belong; returns the priority that is
/// in force.
int apply_field_headers(HttpExchange& exchange, const openai::GenerationFields& fields);

}  // namespace paceline
