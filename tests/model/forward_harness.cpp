#include "tests/model/forward_harness.h"

#include <algorithm>
#include <random>

namespace paceline {

ForwardHarness::ForwardHarness(const TensorSource& source, const ModelConfig& config,
                               const ForwardSetup& setup)
    : block_size_(setup.block_size), team_(setup.num_threads) {
  LoadedWeights loaded =
      load_weights(source, config, {.form = setup.form, .isa = setup.isa}, team_, {}).value();
  std::vector<float> key_bias = loaded.weights.max_key_bias(config);
  if (!setup.widens_keys) std::fill(key_bias.begin(), key_bias.end(), 0.0F);
  const KvCacheLayout layout(config, setup.kv_dtype, key_bias, setup.block_size);
  cache_ = std::make_unique<KvCache>(KvCache::create(layout, setup.num_blocks).value());
  model_ = Qwen2Model::create(config, std::move(loaded.weights),
                              {.max_tokens = setup.max_tokens, .max_logits_rows = setup.max_tokens},
                              std::min(config.max_context, 4096),
                              {.team = team_, .clock = clock_, .isa = setup.isa})
               .value();
}

std::vector<std::vector<float>> ForwardHarness::step(const std::vector<SequencePart>& parts) {
  ForwardBatch batch;
  for (const SequencePart& part : parts) {
    batch.sequences.push_back({.first_row = batch.num_rows(),
                               .num_rows = part.count,
                               .start_position = part.start,
                               .blocks = part.blocks});
    for (int p = part.start; p < part.start + part.count; ++p) {
      batch.logits_rows.push_back(batch.num_rows());
      batch.token_ids.push_back(part.tokens[static_cast<std::size_t>(p)]);
      batch.positions.push_back(p);
      batch.slot_mapping.push_back({.block = part.blocks[static_cast<std::size_t>(p / block_size_)],
                                    .offset = p % block_size_});
    }
  }
  const float* logits = model_->forward(batch, *cache_).logits;
  const int columns = model_->config().vocab_rows;
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < batch.num_rows(); ++i, logits += columns) {
    rows.emplace_back(logits, logits + columns);
  }
  return rows;
}

std::vector<std::vector<float>> ForwardHarness::run(std::span<const TokenId> tokens, int chunk,
                                                    int first_block) {
  const int num_tokens = static_cast<int>(tokens.size());
  const std::vector<BlockId> table = blocks(num_tokens, first_block);
  std::vector<std::vector<float>> rows;
  for (int start = 0; start < num_tokens; start += chunk) {
    const int count = std::min(chunk, num_tokens - start);
    auto part = step({{.tokens = tokens, .start = start, .count = count, .blocks = table}});
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

std::vector<BlockId> ForwardHarness::blocks(int num_tokens, int first_block) const {
  std::vector<BlockId> result;
  for (int b = 0; b * block_size_ < num_tokens; ++b) result.push_back(BlockId{first_block + b});
  return result;
}

std::vector<TokenId> random_tokens(int count, int limit, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back(TokenId{static_cast<std::int32_t>(random() % static_cast<unsigned>(limit))});
  }
  return tokens;
}

}  // namespace paceline
