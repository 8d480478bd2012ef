#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "kvpool/block_table.h"
#include "scheduler/decision_log.h"

namespace paceline {

/// A sequence to compute, as the engine hands it to the scheduler.
struct NewSequence {
  SequenceId id{};
  RequestId request{};
  TenantId tenant{};
  std::vector<TokenId> prompt;
  int max_new_tokens = 0;  ///< tokens the engine will append at most; 0: the prompt only
  int priority = 0;        ///< lower first, inside the tenant
  /// Every prompt position gets a row of logits; no prefix cache hits are used.
  bool prompt_logprobs = false;
  std::string cache_salt = {};  ///< from the client; kept apart per tenant in any case
  /// Sibling whose prompt is computed first, so that n choices share its blocks.
  std::optional<SequenceId> after = {};
};

/// What a sequence has cost so far.
struct SequenceStats {
  TimePoint queued_at{};
  std::optional<TimePoint> first_scheduled_at = {};
  int cached_tokens = 0;  ///< prompt tokens found in the prefix cache at the first admission
  int num_preemptions = 0;
  double kv_block_seconds = 0;
  DecisionLog decisions = {};
};

/// Where a sequence is. There is no prefill or decode state: num_computed_tokens moves towards
/// num_tokens, and both are the same to the scheduler.
///
///            add            admitted             finished, cancelled
///          ───────► kWaiting ───────► kRunning ──────────────────────► (gone)
///                      ▲                 │
///                      └── preempted ◄───┘
enum class SequenceState {
  kWaiting,  ///< no blocks; in the fair queue unless paused or waiting for its sibling
  kRunning,  ///< holds blocks; scheduled unless paused
};

/// One token stream being computed: prompt and generated ids, progress and blocks. Owned by the
/// Scheduler, which alone changes it; others read. Engine thread. Invariant: num_computed_tokens <
/// num_tokens between steps, and the blocks cover num_computed_tokens.
class Sequence {
 public:
  Sequence(NewSequence request, std::uint64_t arrival, TimePoint queued_at, BlockTable blocks);

  [[nodiscard]] SequenceId id() const { return id_; }
  [[nodiscard]] RequestId request() const { return request_; }
  [[nodiscard]] TenantId tenant() const { return tenant_; }
  [[nodiscard]] int priority() const { return priority_; }
  /// Order of arrival over all tenants; lower is older.
  [[nodiscard]] std::uint64_t arrival() const { return arrival_; }
  [[nodiscard]] bool wants_prompt_logprobs() const { return prompt_logprobs_; }
  [[nodiscard]] const std::string& cache_salt() const { return cache_salt_; }

  /// Prompt and generated tokens; the last generated one is not computed yet.
  [[nodiscard]] std::span<const TokenId> token_ids() const { return token_ids_; }
  [[nodiscard]] int num_tokens() const { return static_cast<int>(token_ids_.size()); }
  [[nodiscard]] int num_prompt_tokens() const { return num_prompt_tokens_; }
  [[nodiscard]] int num_generated_tokens() const { return num_tokens() - num_prompt_tokens_; }
  [[nodiscard]] int max_total_tokens() const { return num_prompt_tokens_ + max_new_tokens_; }
  /// Tokens whose K/V are in the cache; the only progress counter.
  [[nodiscard]] int num_computed_tokens() const { return num_computed_tokens_; }
  [[nodiscard]] int num_remaining_tokens() const { return num_tokens() - num_computed_tokens_; }
  [[nodiscard]] bool is_prompt_computed() const {
    return num_computed_tokens_ >= num_prompt_tokens_;
  }
  /// More than one token to compute, or a prompt that has not given its first token yet.
  [[nodiscard]] bool needs_prefill() const {
    return num_remaining_tokens() > 1 || !is_prompt_computed();
  }

  [[nodiscard]] SequenceState state() const { return state_; }
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  [[nodiscard]] std::optional<SequenceId> after() const { return after_; }
  /// In the fair queue, or would be scheduled.
  [[nodiscard]] bool is_runnable() const { return !is_paused_ && !after_; }
  [[nodiscard]] std::span<const BlockId> block_ids() const { return blocks_.ids(); }
  [[nodiscard]] const SequenceStats& stats() const { return stats_; }

 private:
  friend class Scheduler;

  SequenceId id_;
  RequestId request_;
  TenantId tenant_;
  std::uint64_t arrival_;
  int priority_;
  bool prompt_logprobs_;
  std::string cache_salt_;
  std::vector<TokenId> token_ids_;
  int num_prompt_tokens_;
  int max_new_tokens_;
  std::optional<SequenceId> after_;

  SequenceState state_ = SequenceState::kWaiting;
  bool is_paused_ = false;
  int num_computed_tokens_ = 0;
  int num_charged_tokens_ = 0;     ///< prompt tokens charged, or found in the cache, so far
  int num_registered_blocks_ = 0;  ///< leading blocks known to the prefix cache
  BlockTable blocks_;
  SequenceStats stats_;
};

}  // namespace paceline
