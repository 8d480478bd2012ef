#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "engine/request.h"

namespace paceline::openai {

/// What is the same in every part of one answer.
struct AnswerIdentity {
  std::string id;  ///< chatcmpl-…, cmpl-…
  std::int64_t created = 0;
  std::string model;  ///< canonical id
  std::string system_fingerprint;
  std::string service_tier;  ///< chat only
};

/// What the client asked to see.
struct AnswerOptions {
  bool logprobs = false;
  bool return_token_ids = false;
  bool include_receipt = false;
  bool include_usage = false;           ///< streams only
  bool continuous_usage_stats = false;  ///< streams only
};

/// Receives one JSON document: the data of one event.
using JsonSink = FunctionRef<void(std::string_view json)>;

/// Output of one choice, complete.
struct ChoiceResult {
  std::string text;
  std::vector<TokenId> token_ids;
  std::vector<TokenLogprobText> logprobs;
  FinishReason finish_reason = FinishReason::kStop;
};

/// Everything a request made, for answers that are not streamed.
struct GenerationResult {
  std::vector<ChoiceResult> choices;
  std::vector<std::vector<TokenLogprobText>> prompt_logprobs;  ///< per prompt; may be empty
  Usage usage;
  Receipt receipt;
};

/// Gathers the events of one request into a result. One thread.
class ResultCollector {
 public:
  /// Requires: num_choices, num_prompts ≥ 1.
  ResultCollector(int num_choices, int num_prompts);

  /// Adds an event; RequestFailed is the caller's.
  void add(GenerationEvent event);
  /// Whether RequestFinished has come.
  [[nodiscard]] bool is_complete() const { return complete_; }
  [[nodiscard]] const GenerationResult& result() const { return result_; }

 private:
  GenerationResult result_;
  bool complete_ = false;
};

}  // namespace paceline::openai
