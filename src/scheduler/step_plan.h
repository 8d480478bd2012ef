#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace paceline {

/// Part of one sequence in a step: positions [start_position, start_position + num_tokens) are
/// computed, their K/V written to the sequence's blocks.
struct SequenceStep {
  SequenceId sequence;
  std::int32_t first_token;       ///< index into StepPlan::token_ids
  std::int32_t num_tokens;        ///< ≥ 1
  std::int32_t start_position;    ///< tokens of the sequence whose K/V are already in the cache
  std::int32_t first_block;       ///< index into StepPlan::block_ids
  std::int32_t num_blocks;        ///< covers start_position + num_tokens
  std::int32_t first_logits_row;  ///< index of the first row of logits, in plan order
  std::int32_t
      num_logits_rows;  ///< the last n of the num_tokens get logits; 0 for an inner prefill chunk
};

/// Copies the first num_tokens positions of a block to another before the step (reuse of a partial
/// block).
struct BlockCopy {
  BlockId source;
  BlockId target;
  std::int32_t num_tokens;
};

/// Decision of one step, plain data. The vectors are reused from step to step.
struct StepPlan {
  std::uint64_t step = 0;
  std::vector<SequenceStep> sequences;
  std::vector<TokenId> token_ids;
  std::vector<BlockId> block_ids;
  std::vector<BlockCopy> copies;
  std::int32_t num_logits_rows = 0;
  std::int32_t num_prefill_tokens = 0;  ///< tokens of steps with inner chunks or prompts
  std::int32_t num_decode_tokens = 0;

  [[nodiscard]] bool empty() const { return sequences.empty(); }
  [[nodiscard]] std::span<const TokenId> tokens_of(const SequenceStep& s) const {
    return std::span(token_ids).subspan(static_cast<std::size_t>(s.first_token),
                                        static_cast<std::size_t>(s.num_tokens));
  }
  [[nodiscard]] std::span<const BlockId> blocks_of(const SequenceStep& s) const {
    return std::span(block_ids).subspan(static_cast<std::size_t>(s.first_block),
                                        static_cast<std::size_t>(s.num_blocks));
  }
};

/// What became of one SequenceStep: the token appended, if the step gave one, and whether the
/// sequence is over.
struct StepResult {
  SequenceId sequence;
  bool has_token = false;
  TokenId token{};
  bool finished =
      false;  ///< stop, length or failure: its blocks are released (full ones stay cached)
};

}  // namespace paceline
