#include "model/accuracy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace paceline {
namespace {

/// log Σ exp(logit) - logit of `token`.
double negative_log_likelihood(std::span<const float> logits, TokenId token) {
  const float max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - max));
  return std::log(sum) + static_cast<double>(max) - static_cast<double>(logits[index_of(token)]);
}

/// Rows [start, start + count) of one sequence that fills the blocks in order.
void fill_batch(ForwardBatch& batch, std::span<const TokenId> tokens, int start, int count,
                std::span<const BlockId> blocks, int block_size) {
  batch.clear();
  for (int i = 0; i < count; ++i) {
    const int position = start + i;
    batch.token_ids.push_back(tokens[static_cast<std::size_t>(position)]);
    batch.positions.push_back(position);
    batch.slot_mapping.push_back({.block = blocks[static_cast<std::size_t>(position / block_size)],
                                  .offset = position % block_size});
    batch.logits_rows.push_back(i);
  }
  batch.sequences.push_back(
      {.first_row = 0, .num_rows = count, .start_position = start, .blocks = blocks});
}

}  // namespace

void TeacherForcedScores::append(const TeacherForcedScores& other) {
  negative_log_likelihoods.insert(negative_log_likelihoods.end(),
                                  other.negative_log_likelihoods.begin(),
                                  other.negative_log_likelihoods.end());
  best_tokens.insert(best_tokens.end(), other.best_tokens.begin(), other.best_tokens.end());
}

double TeacherForcedScores::perplexity() const {
  const double sum =
      std::accumulate(negative_log_likelihoods.begin(), negative_log_likelihoods.end(), 0.0);
  return std::exp(sum / static_cast<double>(negative_log_likelihoods.size()));
}

TeacherForcedScores score_text(Qwen2Model& model, KvCache& cache, std::span<const TokenId> tokens) {
  const int block_size = cache.layout().block_size();
  const int num_tokens = static_cast<int>(tokens.size());
  CHECK(num_tokens >= 2 && num_tokens <= model.max_context());
  std::vector<BlockId> blocks;
  for (int b = 0; b * block_size < num_tokens; ++b) blocks.push_back(BlockId{b});
  CHECK(static_cast<int>(blocks.size()) <= cache.num_blocks());

  const int max_rows = std::min(model.limits().max_tokens, model.limits().max_logits_rows);
  const auto vocab_rows = static_cast<std::size_t>(model.config().vocab_rows);
  TeacherForcedScores scores;
  ForwardBatch batch;
  for (int start = 0; start < num_tokens - 1; start += max_rows) {
    const int count = std::min(max_rows, num_tokens - 1 - start);
    fill_batch(batch, tokens, start, count, blocks, block_size);
    const ForwardResult result = model.forward(batch, cache);
    for (int i = 0; i < count; ++i) {
      const std::span logits(result.logits + static_cast<std::size_t>(i) * vocab_rows, vocab_rows);
      const TokenId next = tokens[static_cast<std::size_t>(start + i + 1)];
      scores.negative_log_likelihoods.push_back(negative_log_likelihood(logits, next));
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      scores.best_tokens.push_back(TokenId{static_cast<std::int32_t>(best)});
    }
  }
  return scores;
}

double agreement(const TeacherForcedScores& a, const TeacherForcedScores& b) {
  CHECK(!a.best_tokens.empty() && a.best_tokens.size() == b.best_tokens.size());
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.best_tokens.size(); ++i) {
    same += a.best_tokens[i] == b.best_tokens[i] ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(a.best_tokens.size());
}

}  // namespace paceline
