#include "sampling/logits_processor.h"

#include <algorithm>
#include <limits>

namespace paceline {

LogitsProcessor::LogitsProcessor(const SamplingParams& params, std::span<const TokenId> prompt,
                                 std::span<const TokenId> end_ids)
    : presence_penalty_(static_cast<float>(params.presence_penalty)),
      frequency_penalty_(static_cast<float>(params.frequency_penalty)),
      repetition_penalty_(static_cast<float>(params.repetition_penalty)),
      min_tokens_(params.min_tokens),
      logit_bias_(params.logit_bias) {
  if (min_tokens_ > 0) {
    masked_ids_.assign(end_ids.begin(), end_ids.end());
    masked_ids_.insert(masked_ids_.end(), params.stop_token_ids.begin(),
                       params.stop_token_ids.end());
  }
  if (repetition_penalty_ != 1) {
    prompt_ids_.assign(prompt.begin(), prompt.end());
    std::ranges::sort(prompt_ids_);
    const auto tail = std::ranges::unique(prompt_ids_);
    prompt_ids_.erase(tail.begin(), tail.end());
  }
}

bool LogitsProcessor::is_active() const {
  return !logit_bias_.empty() || !prompt_ids_.empty() || !generated_counts_.empty() ||
         (num_generated_ < min_tokens_ && !masked_ids_.empty());
}

void LogitsProcessor::apply(std::span<float> logits) const {
  if (repetition_penalty_ != 1) apply_repetition(logits);
  if (presence_penalty_ != 0 || frequency_penalty_ != 0) apply_counts(logits);
  for (const auto& [id, bias] : logit_bias_) logits[index_of(id)] += bias;
  if (num_generated_ < min_tokens_) {
    for (const TokenId id : masked_ids_) {
      logits[index_of(id)] = -std::numeric_limits<float>::infinity();
    }
  }
}

void LogitsProcessor::apply_repetition(std::span<float> logits) const {
  const auto penalise = [&](TokenId id) {
    float& logit = logits[index_of(id)];
    logit = logit > 0 ? logit / repetition_penalty_ : logit * repetition_penalty_;
  };
  for (const TokenId id : prompt_ids_) penalise(id);
  for (const auto& [id, count] : generated_counts_) {
    if (!std::ranges::binary_search(prompt_ids_, id)) penalise(id);
  }
}

void LogitsProcessor::apply_counts(std::span<float> logits) const {
  for (const auto& [id, count] : generated_counts_) {
    logits[index_of(id)] -= presence_penalty_ + frequency_penalty_ * static_cast<float>(count);
  }
}

void LogitsProcessor::accept(TokenId token) {
  ++num_generated_;
  if (presence_penalty_ != 0 || frequency_penalty_ != 0 || repetition_penalty_ != 1) {
    ++generated_counts_[token];
  }
}

}  // namespace paceline
