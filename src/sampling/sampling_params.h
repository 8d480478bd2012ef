#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace paceline {

/// How tokens of one request are chosen and when its choices end. Names, ranges and defaults are
/// API.md §3.1's.
struct SamplingParams {
  double temperature = 1.0;         ///< 0 … 2; below 1e-5 means argmax
  double top_p = 1.0;               ///< 0 … 1
  int top_k = -1;                   ///< ≥ -1; -1 and 0 are off
  double min_p = 0.0;               ///< 0 … 1, relative to the best token
  double presence_penalty = 0.0;    ///< -2 … 2, generated tokens only
  double frequency_penalty = 0.0;   ///< -2 … 2, generated tokens only
  double repetition_penalty = 1.0;  ///< > 0, ≤ 10, prompt and generated tokens
  std::vector<std::pair<TokenId, float>> logit_bias =
      {};                                    ///< -100 … 100, ≤ 1024 entries, unique ids
  std::optional<std::int64_t> seed = {};     ///< absent: random
  int n = 1;                                 ///< choices per prompt, 1 … 128
  std::vector<std::string> stop = {};        ///< ≤ 4 texts of 1 … 16384 bytes
  std::vector<TokenId> stop_token_ids = {};  ///< ≤ 64
  bool ignore_eos = false;
  int min_tokens = 0;  ///< ≥ 0
  bool logprobs = false;
  int top_logprobs = 0;  ///< 0 … 20
};

/// Checks ranges and combinations; ids against `vocab_size`. Errors: kInvalidValue with the field's
/// name as param.
[[nodiscard]] Result<void> validate(const SamplingParams& params, int vocab_size);

}  // namespace paceline
