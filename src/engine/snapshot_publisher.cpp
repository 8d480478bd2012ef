#include "engine/snapshot_publisher.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace paceline {
namespace {

// What computed tokens are charged (DESIGN.md §5): prompt tokens once, generated ones twice.
double charge_of(const SchedulerSnapshot& s) {
  return static_cast<double>(s.num_prefill_tokens) + 2.0 * static_cast<double>(s.num_decode_tokens);
}

double rise(std::uint64_t now, std::uint64_t before) { return static_cast<double>(now - before); }

// Lists the requests that have not started, each once, in the order of their tenant's queue.
std::vector<EngineSnapshot::Waiting> list_waiting(const SchedulerSnapshot& scheduler,
                                                  double tokens_per_second,
                                                  FunctionRef<bool(SequenceId)> is_queued) {
  std::vector<EngineSnapshot::Waiting> out;
  std::unordered_set<RequestId> seen;
  std::unordered_map<TenantId, int> positions;
  for (const auto& waiting : scheduler.waiting) {
    if (!is_queued(waiting.sequence) || !seen.insert(waiting.request).second) continue;
    out.push_back({.request = waiting.request,
                   .tenant = waiting.tenant,
                   .position = ++positions[waiting.tenant]});
  }
  // Every waiting request is taken to be as long as the average and to start when as many tokens
  // as wait up to and including its own have been served, the tenants taking turns.
  if (tokens_per_second <= 1 || out.empty()) return out;
  const double ms_per_request = 1e3 * static_cast<double>(scheduler.num_waiting_tokens) /
                                static_cast<double>(out.size()) / tokens_per_second;
  const auto num_tenants = static_cast<double>(positions.size());
  for (auto& waiting : out) {
    waiting.estimated_start_ms = ms_per_request * num_tenants * waiting.position;
  }
  return out;
}

}  // namespace

SnapshotPublisher::SnapshotPublisher(EngineMetrics& metrics, const Clock& clock, int block_size)
    : metrics_(metrics),
      clock_(clock),
      block_size_(block_size),
      started_at_(clock.now()),
      latest_(std::make_shared<const EngineSnapshot>()) {}

void SnapshotPublisher::publish(const SchedulerSnapshot& scheduler, const LoopState& loop,
                                FunctionRef<bool(SequenceId)> is_queued) {
  const TimePoint now = clock_.now();
  rate_.add(now, charge_of(scheduler) - charge_of(last_));
  auto snapshot = std::make_shared<EngineSnapshot>();
  snapshot->taken_at = now;
  snapshot->num_running = scheduler.num_running;
  snapshot->num_waiting = scheduler.num_waiting_requests + scheduler.num_preempted;
  snapshot->waiting_tokens = scheduler.num_waiting_tokens;
  snapshot->kv_blocks_total = scheduler.num_blocks;
  snapshot->kv_blocks_active = scheduler.num_active_blocks;
  snapshot->kv_blocks_cached = scheduler.num_cached_blocks;
  snapshot->kv_blocks_free = scheduler.num_free_blocks;
  snapshot->block_size = block_size_;
  snapshot->steps = scheduler.num_steps;
  snapshot->last_step_at = loop.last_step_at;
  snapshot->has_work = loop.has_work;
  snapshot->healthy = loop.fault.empty();
  snapshot->fault = loop.fault;
  snapshot->tokens_per_second = std::max(1.0, rate_.per_second(now, started_at_));
  snapshot->waiting = list_waiting(scheduler, snapshot->tokens_per_second, is_queued);

  metrics_.requests_running.set(snapshot->num_running);
  metrics_.requests_waiting.set(snapshot->num_waiting);
  count(scheduler);
  count_tenants(scheduler);
  last_ = scheduler;
  last_published_at_ = now;
  const std::lock_guard lock(mutex_);
  latest_ = std::move(snapshot);
}

std::shared_ptr<const EngineSnapshot> SnapshotPublisher::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void SnapshotPublisher::count(const SchedulerSnapshot& s) {
  metrics_.waiting_tokens.set(static_cast<double>(s.num_waiting_tokens));
  metrics_.kv_cache_usage.set(
      s.num_blocks > 0 ? static_cast<double>(s.num_active_blocks) / s.num_blocks : 0);
  metrics_.kv_blocks[KvBlockState::kActive].set(s.num_active_blocks);
  metrics_.kv_blocks[KvBlockState::kCached].set(s.num_cached_blocks);
  metrics_.kv_blocks[KvBlockState::kFree].set(s.num_free_blocks);
  metrics_
      .kv_evicted_blocks[static_cast<std::size_t>(EvictionCause::kPoolFull)][EvictionOwner::kSame]
      .add(rise(s.num_evicted_blocks, last_.num_evicted_blocks));
  metrics_.preemptions.add(rise(s.num_preemptions, last_.num_preemptions));
  metrics_.prefix_cache_queries.add(rise(s.prefix_queries, last_.prefix_queries));
  metrics_.prefix_cache_hits.add(rise(s.prefix_hits, last_.prefix_hits));
  static_assert(kNumDecisions == kNumLabelValues<SchedDecision>);
  for (std::size_t i = 0; i < kNumDecisions; ++i) {
    metrics_.decisions[static_cast<SchedDecision>(i)].add(rise(s.decisions[i], last_.decisions[i]));
  }
  static_assert(kNumDecisionReasons == kNumLabelValues<WaitReason>);
  for (std::size_t i = 0; i < kNumDecisionReasons; ++i) {
    metrics_.waiting_by_reason[static_cast<WaitReason>(i)].set(s.waiting_by_reason[i]);
  }
}

void SnapshotPublisher::count_tenants(const SchedulerSnapshot& scheduler) {
  struct Sum {
    int running = 0;
    int waiting = 0;
  };
  const std::span<TenantMetrics> tenants = metrics_.tenants();
  std::vector<Sum> sums(tenants.size());
  for (const auto& tenant : scheduler.tenants) {
    Sum& sum = sums[metrics_.tenant_index(tenant.tenant)];
    sum.running += tenant.num_running;
    sum.waiting += tenant.num_waiting;
  }
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    tenants[i].running.set(sums[i].running);
    tenants[i].waiting.set(sums[i].waiting);
  }
}

}  // namespace paceline
