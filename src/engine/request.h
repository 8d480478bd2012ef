#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "metrics/metric_labels.h"
#include "sampling/logprobs.h"
#include "sampling/sampling_params.h"

namespace paceline {

/// What a client asked for after parsing, validation and tokenising. Choice index = prompt index ×
/// sampling.n + k.
struct GenerationRequest {
  RequestId id{};
  TenantId tenant{};
  Api api = Api::kChat;                       ///< label of metrics and request lists
  Transport transport = Transport::kHttp;     ///< likewise
  std::vector<std::vector<TokenId>> prompts;  ///< 1 … 128, none empty
  SamplingParams sampling;
  int max_tokens = 0;  ///< effective cap per choice; 0 computes the prompt only
  /// Prompt and output of one choice together; makes max_tokens smaller for a longer prompt.
  std::optional<int> max_sequence_tokens = {};
  int priority = 0;  ///< lower first, inside the tenant
  bool prompt_logprobs =
      false;  ///< echo with logprobs: PromptLogprobs per prompt; skips prefix cache hits
  std::string cache_salt = {};
  TimePoint accepted_at{};
  std::optional<TimePoint> deadline = {};        ///< kDeadlineExceeded after it
  std::optional<TimePoint> queue_deadline = {};  ///< kQueueTimeout when still waiting then
};

enum class FinishReason { kStop, kLength };

/// Counted like API.md §3.3: the prompts once each, all choices' generated tokens summed, end
/// tokens not counted.
struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;
  int completion_tokens = 0;
};

/// What a request cost (API.md §3.3, `paceline.receipt`).
struct Receipt {
  double queue_ms = 0;
  double prefill_ms = 0;
  double decode_ms = 0;
  double total_ms = 0;
  double cpu_ms = 0;
  double kv_block_seconds = 0;
  int cached_tokens = 0;
  int preemptions = 0;
};

/// Text and log-probabilities carry the bytes of their tokens, so that no reader needs the
/// tokenizer.
struct LogprobText {
  std::string bytes;  ///< never empty
  float logprob = 0;
};
struct TokenLogprobText {
  LogprobText chosen;
  std::vector<LogprobText> top = {};
};

/// The request left the queue: its first sequence is in a step.
struct RequestStarted {
  Usage usage;  ///< prompt_tokens and cached_tokens
};
/// Log-probabilities of one prompt's tokens; the first token has none, so there are size-1 items.
struct PromptLogprobs {
  int prompt_index = 0;
  std::vector<TokenLogprobText> tokens;
};
/// New output of one choice. Text holds whole characters only; token ids and log-probabilities
/// travel with the text they made, so text may be empty only when token_ids is not.
struct ChoiceDelta {
  int index = 0;
  std::string text;
  std::vector<TokenId> token_ids;
  std::vector<TokenLogprobText> logprobs;
  int completion_tokens = 0;  ///< of the whole request so far
};
struct ChoiceFinished {
  int index = 0;
  FinishReason reason = FinishReason::kStop;
};
/// Last event of a successful request.
struct RequestFinished {
  Usage usage;
  Receipt receipt;
};
/// Last event of a failed or cancelled request; `started` tells whether RequestStarted came before.
struct RequestFailed {
  Error error;
  Usage usage;
  Receipt receipt;
};

using GenerationEvent = std::variant<RequestStarted, PromptLogprobs, ChoiceDelta, ChoiceFinished,
                                     RequestFinished, RequestFailed>;

}  // namespace paceline
