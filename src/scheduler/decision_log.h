#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace paceline {

/// What the scheduler did with a sequence (API.md §8.6). kSkipAhead: admitted before an older one
/// of its tenant; kReject: refused at entry.
enum class Decision { kAdmit, kDefer, kSkipAhead, kChunk, kPreempt, kResume, kPause, kReject };
inline constexpr std::size_t kNumDecisions = 8;

/// Why (API.md §8.6).
enum class DecisionReason {
  kNone,
  kFairness,
  kPriority,
  kBatchFull,
  kChunkBudget,
  kKvFull,
  kTenantKvCeiling,
  kTenantConcurrency,
  kTenantRate,
  kSlowReader,
  kDeadline
};
inline constexpr std::size_t kNumDecisionReasons = 11;

/// Return the label of API.md §8.6, such as `skip_ahead` and `kv_full`.
[[nodiscard]] std::string_view to_string(Decision decision);
[[nodiscard]] std::string_view to_string(DecisionReason reason);

/// One decision, or a run of equal ones.
struct DecisionEntry {
  TimePoint at{};          ///< of the first of the run
  std::uint64_t step = 0;  ///< of the first of the run
  Decision decision = Decision::kDefer;
  DecisionReason reason = DecisionReason::kNone;
  int count = 1;
  std::int32_t need_blocks = 0;  ///< of the last of the run; 0 unless the pool was the reason
  std::int32_t free_blocks = 0;
};

/// The decisions about one sequence, oldest first, equal consecutive ones merged, at most
/// kMaxEntries: when full, the second oldest is dropped, so that the first and the newest stay.
class DecisionLog {
 public:
  static constexpr std::size_t kMaxEntries = 32;

  void record(const DecisionEntry& entry);
  [[nodiscard]] std::span<const DecisionEntry> entries() const { return entries_; }

 private:
  std::vector<DecisionEntry> entries_;
};

}  // namespace paceline
