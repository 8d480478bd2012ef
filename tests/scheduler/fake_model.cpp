#include "tests/scheduler/fake_model.h"

#include <algorithm>
#include <cstddef>

namespace paceline {
namespace {

std::uint64_t next_state(std::uint64_t state, TokenId token) {
  std::uint64_t x = state * 6364136223846793005ULL + static_cast<std::uint32_t>(raw(token)) + 1;
  x ^= x >> 29;
  return x * 0x9FB21C651E98DF25ULL;
}

/// Few tokens, so that outputs of different sequences sometimes agree.
TokenId token_after(std::uint64_t state) { return TokenId{static_cast<int>((state >> 40) % 7)}; }

}  // namespace

FakeModel::FakeModel(int num_blocks, int block_size)
    : block_size_(block_size), kv_(static_cast<std::size_t>(num_blocks * block_size), 0xDEAD) {}

std::map<SequenceId, TokenId> FakeModel::run(const StepPlan& plan) {
  for (const BlockCopy& copy : plan.copies) {
    const auto source = kv_.begin() + raw(copy.source) * block_size_;
    std::copy(source, source + copy.num_tokens, kv_.begin() + raw(copy.target) * block_size_);
  }
  std::map<SequenceId, TokenId> tokens;
  for (const SequenceStep& s : plan.sequences) {
    const auto blocks = plan.blocks_of(s);
    std::uint64_t state = s.start_position == 0 ? 1 : at(blocks, s.start_position - 1);
    for (int i = 0; i < s.num_tokens; ++i) {
      state = next_state(state, plan.tokens_of(s)[static_cast<std::size_t>(i)]);
      at(blocks, s.start_position + i) = state;
    }
    if (s.num_logits_rows > 0) tokens[s.sequence] = token_after(state);
  }
  return tokens;
}

std::vector<TokenId> FakeModel::expected_output(std::span<const TokenId> prompt, int num_tokens) {
  std::uint64_t state = 1;
  for (const TokenId token : prompt) state = next_state(state, token);
  std::vector<TokenId> output;
  for (int i = 0; i < num_tokens; ++i) {
    output.push_back(token_after(state));
    state = next_state(state, output.back());
  }
  return output;
}

std::uint64_t& FakeModel::at(std::span<const BlockId> blocks, int position) {
  const BlockId block = blocks[static_cast<std::size_t>(position / block_size_)];
  return kv_[static_cast<std::size_t>(raw(block) * block_size_ + position % block_size_)];
}

}  // namespace paceline
