#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "model/kv_cache.h"
#include "model/qwen2_model.h"
#include "model/weights_loader.h"

namespace paceline {

struct ForwardSetup {
  WeightsForm form = WeightsForm::kInt8;
  KvElement kv_dtype = KvElement::kInt8;
  bool widens_keys = true;  ///< false: int8 keys whatever the bias
  int block_size = 16;
  int num_blocks = 200;
  int num_threads = 1;
  Isa isa = detect_isa();
  int max_tokens = 256;
};

/// Part of a sequence in a step of a test: tokens from `start` on.
struct SequencePart {
  std::span<const TokenId> tokens;  ///< the whole sequence
  int start = 0;
  int count = 0;
  std::span<const BlockId> blocks;
};

/// A loaded model with its cache; every row of a step gets logits.
class ForwardHarness {
 public:
  ForwardHarness(const TensorSource& source, const ModelConfig& config, const ForwardSetup& setup);

  /// One step; returns [rows][vocab_rows].
  std::vector<std::vector<float>> step(const std::vector<SequencePart>& parts);
  /// A whole sequence in steps of at most `chunk` tokens, in blocks first_block, first_block + 1 …
  std::vector<std::vector<float>> run(std::span<const TokenId> tokens, int chunk,
                                      int first_block = 0);
  /// Blocks first_block … that hold num_tokens.
  [[nodiscard]] std::vector<BlockId> blocks(int num_tokens, int first_block) const;

  KvCache& cache() { return *cache_; }
  Qwen2Model& model() { return *model_; }

 private:
  int block_size_;
  SteadyClock clock_;
  ThreadPool team_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<Qwen2Model> model_;
};

/// Ids 0 … limit-1 in a fixed random order with repetitions.
[[nodiscard]] std::vector<TokenId> random_tokens(int count, int limit, unsigned seed);

}  // namespace paceline
