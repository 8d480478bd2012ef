#pragma once

#include <string>
#include <vector>

#include "http/openai/answer.h"
#include "http/openai/legacy_logprobs.h"

namespace paceline::openai {

/// One prompt as `echo` and `return_token_ids` show it.
struct PromptText {
  std::string text;               ///< decoded prompt
  std::vector<TokenId> ids = {};  ///< never empty
  std::string first_token = {};   ///< bytes of ids[0]; needed for echo with logprobs
};

/// Body of a completions answer (API.md §4); choice index = prompt × n + k.
[[nodiscard]] std::string write_completion(const AnswerIdentity& identity,
                                           const AnswerOptions& options, bool echo,
                                           const GenerationResult& result,
                                           std::span<const PromptText> prompts);

/// Turns the events of one completions request into chunks (API.md §4). One connection's thread.
class CompletionStreamWriter {
 public:
  /// Requires: num_choices is a multiple of the number of prompts.
  CompletionStreamWriter(const AnswerIdentity& identity, const AnswerOptions& options, bool echo,
                         int num_choices, std::vector<PromptText> prompts);

  /// Sends the chunks an event makes; RequestFailed makes the error event. The end mark `[DONE]` is
  /// the caller's.
  void write(const GenerationEvent& event, JsonSink sink);

 private:
  struct Choice {
    bool has_begun = false;     // the echo, if any, has been sent
    bool shows_prompt = false;  // the next chunk carries prompt_token_ids
    LegacyLogprobs logprobs = {};
    std::vector<TokenId> token_ids = {};  // wait for the next text or the finish chunk
  };

  void on(const RequestStarted& event, JsonSink sink);
  void on(const PromptLogprobs& event, JsonSink sink);
  void on(const ChoiceDelta& event, JsonSink sink);
  void on(const ChoiceFinished& event, JsonSink sink);
  void on(const RequestFinished& event, JsonSink sink);
  void on(const RequestFailed& event, JsonSink sink);

  [[nodiscard]] std::size_t prompt_of(int index) const;
  void begin_choice(int index, JsonSink sink);
  void write_chunk(int index, std::string_view text, const FinishReason* reason, JsonSink sink);

  AnswerOptions options_;
  bool echo_;
  std::vector<PromptText> prompts_;
  std::vector<std::vector<TokenLogprobText>> prompt_logprobs_;
  std::string head_;  // {"id":…,"choices":[
  std::vector<Choice> choices_;
  Usage usage_;
  std::string buffer_;
};

}  // namespace paceline::openai
