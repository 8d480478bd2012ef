#include "tests/support/scripted_model_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace paceline {
namespace {

constexpr std::chrono::seconds kHangGuard{30};
constexpr float kWinner = 10;
constexpr float kPadding = 1000;

// FNV-1a over the ids.
std::uint64_t hash_of(std::span<const TokenId> tokens) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const TokenId token : tokens) {
    hash = (hash ^ static_cast<std::uint64_t>(raw(token))) * 0x100000001B3U;
  }
  return hash;
}

}  // namespace

ScriptedModelRunner::ScriptedModelRunner(Options options)
    : options_(options),
      slots_(static_cast<std::size_t>(options.num_blocks) *
             static_cast<std::size_t>(options.block_size)) {}

void ScriptedModelRunner::script(std::vector<TokenId> prompt, std::vector<TokenId> output) {
  const std::lock_guard lock(mutex_);
  outputs_[std::move(prompt)] = std::move(output);
}

void ScriptedModelRunner::set_logits(LogitsFunction fill) {
  const std::lock_guard lock(mutex_);
  fill_ = std::move(fill);
}

void ScriptedModelRunner::fail_next(Failure failure) {
  const std::lock_guard lock(mutex_);
  failures_.push_back(failure);
}

void ScriptedModelRunner::hold() {
  const std::lock_guard lock(mutex_);
  holds_ = true;
}

bool ScriptedModelRunner::wait_until_held() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kHangGuard, [this] { return is_held_; });
}

void ScriptedModelRunner::release() {
  {
    const std::lock_guard lock(mutex_);
    holds_ = false;
    is_held_ = false;
  }
  changed_.notify_all();
}

void ScriptedModelRunner::step() {
  {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
  }
  changed_.notify_all();
}

std::vector<StepPlan> ScriptedModelRunner::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_;
}

Result<StepLogits> ScriptedModelRunner::run(const StepPlan& plan) {
  std::unique_lock lock(mutex_);
  plans_.push_back(plan);
  wait_while_held(lock);
  if (!failures_.empty()) {
    const Failure failure = failures_.front();
    failures_.pop_front();
    if (failure == Failure::kException) throw std::runtime_error("scripted exception");
    if (failure == Failure::kError) return fail(ErrorCode::kEngineError, "scripted failure");
    return StepLogits{.num_rows = plan.num_logits_rows + 1};
  }
  store(plan);
  const std::size_t stride =
      static_cast<std::size_t>(options_.vocab_size + options_.num_padding_rows);
  logits_.assign(stride * static_cast<std::size_t>(plan.num_logits_rows), 0);
  for (const SequenceStep& step : plan.sequences) {
    const auto end = static_cast<std::size_t>(step.start_position + step.num_tokens);
    const std::vector<TokenId> tokens = load(plan, step, end);
    for (int i = 0; i < step.num_logits_rows; ++i) {
      const auto row = std::span(logits_).subspan(
          stride * static_cast<std::size_t>(step.first_logits_row + i), stride);
      const auto length = end - static_cast<std::size_t>(step.num_logits_rows - 1 - i);
      fill_row(std::span(tokens).first(length), row);
    }
  }
  return StepLogits{.values = logits_.data(), .stride = stride, .num_rows = plan.num_logits_rows};
}

void ScriptedModelRunner::wait_while_held(std::unique_lock<std::mutex>& lock) {
  if (!holds_) return;
  is_held_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !is_held_; });
}

void ScriptedModelRunner::store(const StepPlan& plan) {
  const auto block_size = static_cast<std::size_t>(options_.block_size);
  for (const BlockCopy& copy : plan.copies) {
    std::copy_n(slots_.begin() + static_cast<std::ptrdiff_t>(index_of(copy.source) * block_size),
                copy.num_tokens,
                slots_.begin() + static_cast<std::ptrdiff_t>(index_of(copy.target) * block_size));
  }
  for (const SequenceStep& step : plan.sequences) {
    const auto blocks = plan.blocks_of(step);
    auto position = static_cast<std::size_t>(step.start_position);
    for (const TokenId token : plan.tokens_of(step)) {
      slots_.at(index_of(blocks[position / block_size]) * block_size + position % block_size) =
          token;
      ++position;
    }
  }
}

std::vector<TokenId> ScriptedModelRunner::load(const StepPlan& plan, const SequenceStep& step,
                                               std::size_t num_tokens) const {
  const auto block_size = static_cast<std::size_t>(options_.block_size);
  const auto blocks = plan.blocks_of(step);
  std::vector<TokenId> tokens(num_tokens);
  for (std::size_t i = 0; i < num_tokens; ++i) {
    tokens[i] = slots_.at(index_of(blocks[i / block_size]) * block_size + i % block_size);
  }
  return tokens;
}

void ScriptedModelRunner::fill_row(std::span<const TokenId> tokens, std::span<float> row) const {
  const auto vocab_size = static_cast<std::size_t>(options_.vocab_size);
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(vocab_size), row.end(), kPadding);
  if (fill_) return fill_(tokens, row.first(vocab_size));
  row[index_of(next_token(tokens))] = kWinner;
}

TokenId ScriptedModelRunner::next_token(std::span<const TokenId> tokens) const {
  for (const auto& [prompt, output] : outputs_) {
    if (prompt.size() > tokens.size() || !std::ranges::equal(prompt, tokens.first(prompt.size()))) {
      continue;
    }
    const std::size_t position = tokens.size() - prompt.size();
    return position < output.size() ? output[position] : options_.end_token;
  }
  return static_cast<TokenId>('a' + static_cast<int>(hash_of(tokens) % 26));
}

}  // namespace paceline
