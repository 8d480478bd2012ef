#include "scheduler/decision_log.h"

#include <array>

namespace paceline {

std::string_view to_string(Decision decision) {
  static constexpr std::array<std::string_view, kNumDecisions> kNames = {
      "admit", "defer", "skip_ahead", "chunk", "preempt", "resume", "pause", "reject"};
  return kNames[static_cast<std::size_t>(decision)];
}

std::string_view to_string(DecisionReason reason) {
  static constexpr std::array<std::string_view, kNumDecisionReasons> kNames = {
      "none",         "fairness",    "priority",          "batch_full",
      "chunk_budget", "kv_full",     "tenant_kv_ceiling", "tenant_concurrency",
      "tenant_rate",  "slow_reader", "deadline"};
  return kNames[static_cast<std::size_t>(reason)];
}

void DecisionLog::record(const DecisionEntry& entry) {
  if (!entries_.empty() && entries_.back().decision == entry.decision &&
      entries_.back().reason == entry.reason) {
    DecisionEntry& last = entries_.back();
    last.count += entry.count;
    last.need_blocks = entry.need_blocks;
    last.free_blocks = entry.free_blocks;
    return;
  }
  if (entries_.size() == kMaxEntries) entries_.erase(entries_.begin() + 1);
  entries_.push_back(entry);
}

}  // namespace paceline
