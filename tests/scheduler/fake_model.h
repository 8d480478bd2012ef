#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "scheduler/step_plan.h"

namespace paceline {

/// Stands for model and KV cache: the "K/V" of a position is a hash of all tokens up to it, made
/// from the stored K/V of the position before, so a wrong block, copy or position changes every
/// token that follows.
class FakeModel {
 public:
  FakeModel(int num_blocks, int block_size);

  /// Computes a step. Returns the next token of each sequence whose last row is its last token,
  /// by SequenceId.
  std::map<SequenceId, TokenId> run(const StepPlan& plan);

  /// What a sequence generates, whatever it is computed with.
  [[nodiscard]] static std::vector<TokenId> expected_output(std::span<const TokenId> prompt,
                                                            int num_tokens);

 private:
  [[nodiscard]] std::uint64_t& at(std::span<const BlockId> blocks, int position);

  int block_size_;
  std::vector<std::uint64_t> kv_;  ///< [num_blocks, block_size]
};

}  // namespace paceline
