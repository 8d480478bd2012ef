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
  Duration requeued{};          ///< waits after preemption, up to the last admission
  double kv_block_seconds = 0;  ///< blocks held, shared ones counted whole, times seconds
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
  kRunning,  ///< in the batch; scheduled unless paused
};

/// One token stream being computed: prompt and generated ids, progress and blocks. Owned by the
/// Scheduler, which alone changes it; others see it as const. Engine thread. Invariant between
/// steps: num_computed_tokens < num_tokens, and the blocks cover num_computed_tokens exactly.
class Sequence {
 public:
  Sequence(NewSequence request, std::uint64_t arrival, TimePoint queued_at, BlockPool& pool);

  // Commands, for the scheduler and its parts.

  /// Joins the batch with the blocks found in the prefix cache.
  void admit(std::span<const BlockId> cached_blocks, int block_size, TimePoint now);
  /// Leaves the batch and gives all blocks back; the tokens stay.
  void preempt(TimePoint now);
  /// Counts `num_tokens` more as computed (fewer when negative: a copy that did not happen).
  void advance(int num_tokens) { num_computed_tokens_ += num_tokens; }
  /// Returns how many prompt tokens are computed for the first time ever, and counts them.
  [[nodiscard]] int settle_prompt_charge();
  /// Appends a generated token. Requires: all tokens so far are computed.
  void append(TokenId token);
  void set_paused(bool paused) { is_paused_ = paused; }
  void clear_after() { after_.reset(); }
  void set_plan_index(int index) { plan_index_ = index; }
  void set_num_registered_blocks(int num_blocks) { num_registered_blocks_ = num_blocks; }
  /// Adds the blocks held since the last call to kv_block_seconds; called before they change.
  void account_blocks(TimePoint now);
  [[nodiscard]] BlockTable& blocks() { return blocks_; }
  [[nodiscard]] SequenceStats& stats() { return stats_; }

  // Queries.

  [[nodiscard]] SequenceId id() const { return id_; }
  [[nodiscard]] RequestId request() const { return request_; }
  [[nodiscard]] TenantId tenant() const { return tenant_; }
  [[nodiscard]] int priority() const { return priority_; }
  /// Order of arrival over all tenants; lower is older.
  [[nodiscard]] std::uint64_t arrival() const { return arrival_; }
  [[nodiscard]] bool wants_prompt_logprobs() const { return prompt_logprobs_; }
  /// Salt of its blocks: tenant and client salt.
  [[nodiscard]] const std::string& salt() const { return salt_; }

  /// Prompt and generated tokens; the last generated one is not computed yet.
  [[nodiscard]] std::span<const TokenId> token_ids() const { return token_ids_; }
  [[nodiscard]] int num_tokens() const { return static_cast<int>(token_ids_.size()); }
  [[nodiscard]] int num_prompt_tokens() const { return num_prompt_tokens_; }
  [[nodiscard]] int num_generated_tokens() const { return num_tokens() - num_prompt_tokens_; }
  /// Tokens whose K/V are in the cache; the only progress counter.
  [[nodiscard]] int num_computed_tokens() const { return num_computed_tokens_; }
  [[nodiscard]] int num_remaining_tokens() const { return num_tokens() - num_computed_tokens_; }
  [[nodiscard]] bool is_prompt_computed() const {
    return num_computed_tokens_ >= num_prompt_tokens_;
  }
  /// Prompt tokens computed, or found in the cache, at any time: never falls.
  [[nodiscard]] int num_settled_tokens() const { return num_settled_tokens_; }
  /// More than one token to compute, or a prompt that has not given its first token yet.
  [[nodiscard]] bool needs_prefill() const {
    return num_remaining_tokens() > 1 || !is_prompt_computed();
  }

  [[nodiscard]] SequenceState state() const { return state_; }
  [[nodiscard]] bool is_running() const { return state_ == SequenceState::kRunning; }
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  /// Sibling it waits for.
  [[nodiscard]] std::optional<SequenceId> after() const { return after_; }
  /// Neither paused nor waiting for a sibling.
  [[nodiscard]] bool is_runnable() const { return !is_paused_ && !after_; }
  /// Index in the step being planned; -1 when it has no part in it.
  [[nodiscard]] int plan_index() const { return plan_index_; }
  [[nodiscard]] bool is_planned() const { return plan_index_ >= 0; }
  /// Leading blocks known to the prefix cache.
  [[nodiscard]] int num_registered_blocks() const { return num_registered_blocks_; }
  [[nodiscard]] std::span<const BlockId> block_ids() const { return blocks_.ids(); }
  [[nodiscard]] const SequenceStats& stats() const { return stats_; }

 private:
  SequenceId id_;
  RequestId request_;
  TenantId tenant_;
  std::uint64_t arrival_;
  int priority_;
  bool prompt_logprobs_;
  std::string salt_;
  std::vector<TokenId> token_ids_;
  int num_prompt_tokens_;
  int max_new_tokens_;
  std::optional<SequenceId> after_;

  SequenceState state_ = SequenceState::kWaiting;
  bool is_paused_ = false;
  TimePoint preempted_at_{};
  int num_computed_tokens_ = 0;
  int num_settled_tokens_ = 0;
  int num_registered_blocks_ = 0;
  int plan_index_ = -1;
  BlockTable blocks_;
  TimePoint blocks_accounted_at_{};
  SequenceStats stats_;
};

}  // namespace paceline
