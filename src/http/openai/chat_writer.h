#pragma once

#include <string>
#include <vector>

#include "http/openai/answer.h"

namespace paceline::openai {

/// Body of a chat answer (API.md §3.3). `prompt_ids` are shown with return_token_ids.
[[nodiscard]] std::string write_chat_completion(const AnswerIdentity& identity,
                                                const AnswerOptions& options,
                                                const GenerationResult& result,
                                                std::span<const TokenId> prompt_ids);

/// Turns the events of one chat request into chunks (API.md §3.5). What is constant over the stream
/// is prepared once, so a text chunk costs the escaping of its text. One connection's thread.
class ChatStreamWriter {
 public:
  /// `prompt_ids` are shown in the first chunk with return_token_ids. Requires: num_choices ≥ 1.
  ChatStreamWriter(const AnswerIdentity& identity, const AnswerOptions& options, int num_choices,
                   std::vector<TokenId> prompt_ids);

  /// Sends the chunks an event makes, none to three; RequestFailed makes the error event. The end
  /// mark `[DONE]` is the caller's.
  void write(const GenerationEvent& event, JsonSink sink);

 private:
  struct Choice {
    bool has_role = false;
    std::vector<TokenId> token_ids = {};          // wait for the next text or the finish chunk
    std::vector<TokenLogprobText> logprobs = {};  // likewise
  };

  void on(const RequestStarted& event, JsonSink sink);
  void on(const PromptLogprobs& event, JsonSink sink);
  void on(const ChoiceDelta& event, JsonSink sink);
  void on(const ChoiceFinished& event, JsonSink sink);
  void on(const RequestFinished& event, JsonSink sink);
  void on(const RequestFailed& event, JsonSink sink);

  void write_role(int index, JsonSink sink);
  /// Sends a chunk with this delta and all log-probabilities and ids that wait.
  void write_delta(int index, std::string_view delta, const FinishReason* reason, JsonSink sink);
  void finish_chunk(JsonSink sink);

  AnswerOptions options_;
  std::vector<TokenId> prompt_ids_;
  std::string head_;  // {"id":…,"system_fingerprint":…,"choices":[
  std::vector<Choice> choices_;
  Usage usage_;
  bool is_first_chunk_ = true;
  std::string buffer_;
  std::string delta_;
};

}  // namespace paceline::openai
