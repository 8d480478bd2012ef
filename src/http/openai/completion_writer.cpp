#include "http/openai/completion_writer.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "http/openai/answer_parts.h"
#include "http/openai/error_body.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

/// Members of an answer before `choices`, the object left open.
void write_identity(JsonWriter& json, const AnswerIdentity& identity) {
  json.begin_object()
      .string("id", identity.id)
      .string("object", "text_completion")
      .integer("created", identity.created)
      .string("model", identity.model)
      .string("system_fingerprint", identity.system_fingerprint);
}

void write_receipt_member(JsonWriter& json, const Receipt& receipt) {
  json.key("paceline").begin_object().key("receipt");
  write_receipt(json, receipt);
  json.end_object();
}

/// Adds an echoed prompt's tokens.
void add_prompt(LegacyLogprobs& logprobs, const PromptText& prompt,
                std::span<const TokenLogprobText> scored) {
  logprobs.add_unscored(prompt.first_token);
  for (const TokenLogprobText& token : scored) logprobs.add(token);
}

void write_logprobs(JsonWriter& json, LegacyLogprobs& logprobs) {
  std::string value;
  logprobs.flush(value);
  json.raw("logprobs", value);
}

struct ResultChoice {
  std::int64_t index;
  const ChoiceResult& choice;
  const PromptText& prompt;
  std::span<const TokenLogprobText> prompt_logprobs;
};

void write_choice(JsonWriter& json, const AnswerOptions& options, bool echo,
                  const ResultChoice& item) {
  json.begin_object().integer("index", item.index);
  json.string("text", (echo ? item.prompt.text : std::string()) + item.choice.text);
  if (options.logprobs) {
    LegacyLogprobs logprobs;
    if (echo) add_prompt(logprobs, item.prompt, item.prompt_logprobs);
    for (const TokenLogprobText& token : item.choice.logprobs) logprobs.add(token);
    write_logprobs(json, logprobs);
  } else {
    json.null("logprobs");
  }
  json.string("finish_reason", to_string(item.choice.finish_reason));
  if (options.return_token_ids) {
    json.key("prompt_token_ids");
    write_token_ids(json, item.prompt.ids);
    json.key("token_ids");
    write_token_ids(json, item.choice.token_ids);
  }
  json.end_object();
}

}  // namespace

std::string write_completion(const AnswerIdentity& identity, const AnswerOptions& options,
                             bool echo, const GenerationResult& result,
                             std::span<const PromptText> prompts) {
  DCHECK(!prompts.empty() && result.choices.size() % prompts.size() == 0);
  const std::size_t n = result.choices.size() / prompts.size();
  std::string out;
  JsonWriter json(out);
  write_identity(json, identity);
  json.key("choices").begin_array();
  for (std::size_t i = 0; i < result.choices.size(); ++i) {
    const std::size_t prompt = i / n;
    write_choice(json, options, echo,
                 {.index = static_cast<std::int64_t>(i),
                  .choice = result.choices[i],
                  .prompt = prompts[prompt],
                  .prompt_logprobs = result.prompt_logprobs[prompt]});
  }
  json.end_array().key("usage");
  write_usage(json, result.usage, UsageShape::kCompletion);
  if (options.include_receipt) write_receipt_member(json, result.receipt);
  json.end_object();
  return out;
}

CompletionStreamWriter::CompletionStreamWriter(const AnswerIdentity& identity,
                                               const AnswerOptions& options, bool echo,
                                               int num_choices, std::vector<PromptText> prompts)
    : options_(options),
      echo_(echo),
      prompts_(std::move(prompts)),
      prompt_logprobs_(prompts_.size()),
      choices_(static_cast<std::size_t>(num_choices)) {
  DCHECK(!prompts_.empty() && choices_.size() % prompts_.size() == 0);
  JsonWriter json(head_);
  write_identity(json, identity);
  json.key("choices").begin_array();
}

void CompletionStreamWriter::write(const GenerationEvent& event, JsonSink sink) {
  std::visit([&](const auto& e) { on(e, sink); }, event);
}

void CompletionStreamWriter::on(const RequestStarted& event, JsonSink /*sink*/) {
  usage_ = event.usage;
}

void CompletionStreamWriter::on(const PromptLogprobs& event, JsonSink /*sink*/) {
  auto& tokens = prompt_logprobs_.at(static_cast<std::size_t>(event.prompt_index));
  tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
}

void CompletionStreamWriter::on(const ChoiceDelta& event, JsonSink sink) {
  begin_choice(event.index, sink);
  Choice& choice = choices_.at(static_cast<std::size_t>(event.index));
  usage_.completion_tokens = event.completion_tokens;
  if (options_.return_token_ids) {
    choice.token_ids.insert(choice.token_ids.end(), event.token_ids.begin(), event.token_ids.end());
  }
  if (options_.logprobs) {
    for (const TokenLogprobText& token : event.logprobs) choice.logprobs.add(token);
  }
  if (!event.text.empty()) write_chunk(event.index, event.text, nullptr, sink);
}

void CompletionStreamWriter::on(const ChoiceFinished& event, JsonSink sink) {
  begin_choice(event.index, sink);
  write_chunk(event.index, "", &event.reason, sink);
}

void CompletionStreamWriter::on(const RequestFinished& event, JsonSink sink) {
  if (!options_.include_usage) return;
  buffer_ = head_;
  buffer_ += "],\"usage\":";
  JsonWriter json(buffer_);
  write_usage(json, event.usage, UsageShape::kCompletion);
  if (options_.include_receipt) write_receipt_member(json, event.receipt);
  json.end_object();
  sink(buffer_);
}

void CompletionStreamWriter::on(const RequestFailed& event, JsonSink sink) {
  sink(error_body(event.error));
}

std::size_t CompletionStreamWriter::prompt_of(int index) const {
  return static_cast<std::size_t>(index) / (choices_.size() / prompts_.size());
}

void CompletionStreamWriter::begin_choice(int index, JsonSink sink) {
  Choice& choice = choices_.at(static_cast<std::size_t>(index));
  if (std::exchange(choice.has_begun, true)) return;
  choice.shows_prompt = options_.return_token_ids;
  if (!echo_) return;
  const std::size_t prompt = prompt_of(index);
  if (options_.logprobs) add_prompt(choice.logprobs, prompts_[prompt], prompt_logprobs_[prompt]);
  write_chunk(index, prompts_[prompt].text, nullptr, sink);
}

void CompletionStreamWriter::write_chunk(int index, std::string_view text,
                                         const FinishReason* reason, JsonSink sink) {
  Choice& choice = choices_.at(static_cast<std::size_t>(index));
  buffer_ = head_;
  JsonWriter json(buffer_);
  json.begin_object().integer("index", index).string("text", text);
  if (choice.logprobs.is_empty()) {
    json.null("logprobs");
  } else {
    write_logprobs(json, choice.logprobs);
  }
  json.key("finish_reason");
  if (reason == nullptr) {
    json.null();
  } else {
    json.string(to_string(*reason));
  }
  if (std::exchange(choice.shows_prompt, false)) {
    json.key("prompt_token_ids");
    write_token_ids(json, prompts_[prompt_of(index)].ids);
  }
  if (options_.return_token_ids) {
    json.key("token_ids");
    write_token_ids(json, choice.token_ids);
    choice.token_ids.clear();
  }
  json.end_object().end_array();
  if (options_.include_usage) {
    json.key("usage");
    if (options_.continuous_usage_stats) {
      write_usage(json, usage_, UsageShape::kCompletion);
    } else {
      json.null();
    }
  }
  json.end_object();
  sink(buffer_);
}

}  // namespace paceline::openai
