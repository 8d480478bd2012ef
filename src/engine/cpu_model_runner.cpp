#include "engine/cpu_model_runner.h"

#include <algorithm>
#include <string>
#include <utility>

namespace paceline {
namespace {

tl::unexpected<Error> bad_plan(std::string what) {
  return fail(ErrorCode::kEngineError, "step plan: " + std::move(what));
}

}  // namespace

CpuModelRunner::CpuModelRunner(std::unique_ptr<Qwen2Model> model, KvCache cache)
    : model_(std::move(model)), cache_(std::move(cache)) {
  const auto max_tokens = static_cast<std::size_t>(model_->limits().max_tokens);
  batch_.token_ids.reserve(max_tokens);
  batch_.positions.reserve(max_tokens);
  batch_.slot_mapping.reserve(max_tokens);
  batch_.sequences.reserve(max_tokens);
  batch_.logits_rows.reserve(static_cast<std::size_t>(model_->limits().max_logits_rows));
}

Result<StepLogits> CpuModelRunner::run(const StepPlan& plan) {
  if (auto valid = check(plan); !valid) return tl::unexpected(std::move(valid.error()));
  for (const BlockCopy& copy : plan.copies) {
    cache_.copy_block(copy.source, copy.target, copy.num_tokens);
  }
  StepLogits result;
  result.stride = static_cast<std::size_t>(model_->config().vocab_rows);
  if (plan.empty()) return result;
  fill_batch(plan);
  const ForwardResult forward = model_->forward(batch_, cache_);
  result.values = forward.logits;
  result.num_rows = static_cast<int>(batch_.logits_rows.size());
  result.linear_seconds = forward.linear_seconds;
  result.attention_seconds = forward.attention_seconds;
  result.lm_head_seconds = forward.lm_head_seconds;
  return result;
}

Result<void> CpuModelRunner::check(const StepPlan& plan) const {
  const StepLimits& limits = model_->limits();
  const auto is_block = [&](BlockId id) { return raw(id) >= 0 && raw(id) < cache_.num_blocks(); };
  const auto is_token = [&](TokenId id) {
    return raw(id) >= 0 && raw(id) < model_->config().vocab_rows;
  };
  std::int64_t num_tokens = 0;
  std::int64_t num_logits_rows = 0;
  for (const SequenceStep& s : plan.sequences) {
    if (auto valid = check(plan, s); !valid) return valid;
    num_tokens += s.num_tokens;
    num_logits_rows += s.num_logits_rows;
  }
  if (num_tokens > limits.max_tokens) {
    return bad_plan(std::to_string(num_tokens) + " tokens, at most " +
                    std::to_string(limits.max_tokens));
  }
  if (num_logits_rows > limits.max_logits_rows) {
    return bad_plan(std::to_string(num_logits_rows) + " rows of logits, at most " +
                    std::to_string(limits.max_logits_rows));
  }
  if (!std::all_of(plan.token_ids.begin(), plan.token_ids.end(), is_token)) {
    return bad_plan("token id outside of the vocabulary");
  }
  if (!std::all_of(plan.block_ids.begin(), plan.block_ids.end(), is_block)) {
    return bad_plan("block id outside of the pool");
  }
  for (const BlockCopy& copy : plan.copies) {
    if (!is_block(copy.source) || !is_block(copy.target) || copy.num_tokens < 1 ||
        copy.num_tokens > cache_.layout().block_size()) {
      return bad_plan("copy of a block outside of the pool");
    }
  }
  return {};
}

Result<void> CpuModelRunner::check(const StepPlan& plan, const SequenceStep& s) const {
  const auto is_range = [](std::int64_t first, std::int64_t count, std::size_t size) {
    return first >= 0 && count >= 0 && first + count <= static_cast<std::int64_t>(size);
  };
  const std::int64_t end = std::int64_t{s.start_position} + s.num_tokens;
  if (s.num_tokens < 1 || s.start_position < 0 || end > model_->max_context()) {
    return bad_plan("positions outside of the context");
  }
  if (!is_range(s.first_token, s.num_tokens, plan.token_ids.size()) ||
      !is_range(s.first_block, s.num_blocks, plan.block_ids.size())) {
    return bad_plan("tokens or blocks outside of the plan");
  }
  if (std::int64_t{s.num_blocks} * cache_.layout().block_size() < end) {
    return bad_plan("blocks do not cover the positions");
  }
  if (s.num_logits_rows < 0 || s.num_logits_rows > s.num_tokens) {
    return bad_plan("more rows of logits than tokens");
  }
  return {};
}

void CpuModelRunner::fill_batch(const StepPlan& plan) {
  batch_.clear();
  const int block_size = cache_.layout().block_size();
  for (const SequenceStep& s : plan.sequences) {
    const auto tokens = plan.tokens_of(s);
    const auto blocks = plan.blocks_of(s);
    const int first_row = batch_.num_rows();
    batch_.token_ids.insert(batch_.token_ids.end(), tokens.begin(), tokens.end());
    for (int p = s.start_position; p < s.start_position + s.num_tokens; ++p) {
      batch_.positions.push_back(p);
      batch_.slot_mapping.push_back(
          {.block = blocks[static_cast<std::size_t>(p / block_size)], .offset = p % block_size});
    }
    batch_.sequences.push_back({.first_row = first_row,
                                .num_rows = s.num_tokens,
                                .start_position = s.start_position,
                                .blocks = blocks});
    for (int i = s.num_tokens - s.num_logits_rows; i < s.num_tokens; ++i) {
      batch_.logits_rows.push_back(first_row + i);
    }
  }
}

}  // namespace paceline
