#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/kernels/paged_attention.h"

namespace paceline {

/// One step as flat arrays, what the model consumes. Row i of the step is one token at one position
/// of one sequence; rows of a sequence are consecutive. The vectors are reused from step to step.
struct ForwardBatch {
  /// Place of a row's K and V in the cache.
  struct Slot {
    BlockId block;
    std::int32_t offset;  ///< 0 … block_size-1
  };

  std::vector<TokenId> token_ids;            ///< [rows]
  std::vector<std::int32_t> positions;       ///< [rows]
  std::vector<Slot> slot_mapping;            ///< [rows]
  std::vector<AttentionSequence> sequences;  ///< block tables are spans into the plan
  std::vector<std::int32_t> logits_rows;     ///< rows that get logits, rising

  [[nodiscard]] int num_rows() const { return static_cast<int>(token_ids.size()); }
  void clear() {
    token_ids.clear();
    positions.clear();
    slot_mapping.clear();
    sequences.clear();
    logits_rows.clear();
  }
};

}  // namespace paceline
