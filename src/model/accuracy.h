#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "model/kv_cache.h"
#include "model/qwen2_model.h"

namespace paceline {

/// What a model says at each position of a text when the true text goes before (teacher forcing):
/// entry i is about token i + 1.
struct TeacherForcedScores {
  std::vector<double> negative_log_likelihoods;  ///< of the true token, nats
  std::vector<TokenId> best_tokens;

  void append(const TeacherForcedScores& other);
  [[nodiscard]] double perplexity() const;
};

/// Scores one text from an empty context; padding rows of the vocabulary count like the others.
/// Requires: 2 ≤ tokens ≤ the model's context; the cache holds them. Thread: the team's caller.
[[nodiscard]] TeacherForcedScores score_text(Qwen2Model& model, KvCache& cache,
                                             std::span<const TokenId> tokens);

/// Returns the share of positions where both models like the same token best. Requires: the same
/// number of positions, at least one.
[[nodiscard]] double agreement(const TeacherForcedScores& a, const TeacherForcedScores& b);

}  // namespace paceline
