#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sampling/sampling_params.h"

namespace paceline {

/// Changes a choice's logits before sampling. Touches only entries that change; order, with its
/// reason:
///   1. repetition penalty   multiplies the model's own logits, whose sign it depends on
///   2. presence, frequency  subtract, from generated tokens only
///   3. logit bias           so that ±100 forces or bans whatever the penalties did
///   4. end-token mask       nothing may lift it before min_tokens
/// Owned by the choice it serves; one thread at a time.
class LogitsProcessor {
 public:
  /// `end_ids` are the model's end tokens; with `params.stop_token_ids` they are masked before
  /// min_tokens.
  LogitsProcessor(const SamplingParams& params, std::span<const TokenId> prompt,
                  std::span<const TokenId> end_ids);

  /// Whether apply() would change anything for the next token.
  [[nodiscard]] bool is_active() const;
  /// Changes the logits of the next token in place. Requires: every id given so far indexes the
  /// row.
  void apply(std::span<float> logits) const;
  /// Notes a generated token.
  void accept(TokenId token);

 private:
  void apply_repetition(std::span<float> logits) const;
  void apply_counts(std::span<float> logits) const;

  const float presence_penalty_;
  const float frequency_penalty_;
  const float repetition_penalty_;
  const int min_tokens_;
  std::vector<std::pair<TokenId, float>> logit_bias_;
  std::vector<TokenId> masked_ids_;                    // until min_tokens
  std::vector<TokenId> prompt_ids_;                    // distinct; only for the repetition penalty
  std::unordered_map<TokenId, int> generated_counts_;  // only when a penalty asks for them
  int num_generated_ = 0;
};

}  // namespace paceline
