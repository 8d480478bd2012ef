#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "metrics/registry.h"

namespace paceline {

/// Facts that are fixed when the engine starts.
struct EngineMetricsOptions {
  std::string model_name;  ///< label `model_name` of the vllm families
  std::string cache_dtype = "int8";
  int block_size = 0;
  int num_blocks = 0;
  std::uint64_t kv_pool_bytes = 0;
  bool prefix_cache = true;
  /// Label of each tenant, by TenantId; several tenants may share `other`. Never empty.
  std::vector<std::string> tenant_labels = {"anonymous"};
};

/// Series of one tenant label.
struct TenantMetrics {
  PerLabel<RequestOutcome, Counter> requests;
  PerLabel<TokenKind, Counter> tokens;
  Gauge running;
  Gauge waiting;
  Histogram ttft;
  Histogram itl;
  Histogram queue_time;
  Counter cpu_seconds;
  Counter kv_block_seconds;
};

/// Series counted by the engine: the vllm-named ones and the request, tenant, step and KV families
/// of API.md §9. Members are handles; counting may come from any thread. Owned by the app, outlives
/// the engine.
class EngineMetrics {
 public:
  EngineMetrics(MetricsRegistry& registry, const Clock& clock, const EngineMetricsOptions& options);
  EngineMetrics(const EngineMetrics&) = delete;
  EngineMetrics& operator=(const EngineMetrics&) = delete;

  /// Series of a tenant; one beyond the configured labels shares the last.
  [[nodiscard]] TenantMetrics& tenant(TenantId id) { return tenants_[tenant_index(id)]; }
  /// Index of a tenant's series in tenants().
  [[nodiscard]] std::size_t tenant_index(TenantId id) const;
  [[nodiscard]] std::span<TenantMetrics> tenants() { return tenants_; }
  /// Notes the last step and whether work exists, from which the age of the last step is computed
  /// when scraped.
  void set_last_step(TimePoint at, bool has_work);

  // vllm-compatible
  Gauge requests_running;
  Gauge requests_waiting;
  Gauge kv_cache_usage;
  Counter prefix_cache_queries;
  Counter prefix_cache_hits;
  Counter preemptions;
  Counter prompt_tokens;
  Counter prompt_tokens_cached;
  Counter generation_tokens;
  PerLabel<FinishedReason, Counter> choices_finished;
  Histogram ttft;
  Histogram itl;
  Histogram time_per_output_token;
  Histogram e2e;
  Histogram queue_time;
  Histogram inference_time;
  Histogram prefill_time;
  Histogram decode_time;
  Histogram request_prompt_tokens;
  Histogram request_generation_tokens;
  Histogram request_max_tokens;
  Histogram request_n;
  Histogram iteration_tokens;

  // requests
  std::array<PerLabel<Transport, Counter>, kNumLabelValues<Api>> requests_accepted;  ///< by Api
  std::array<PerLabel<CancelCause, Counter>, kNumLabelValues<RequestPhase>>
      cancellations;  ///< by RequestPhase
  PerLabel<TokenKind, Counter> cancelled_tokens;
  Gauge waiting_tokens;
  PerLabel<WaitReason, Gauge> waiting_by_reason;
  Counter receipt_cpu_seconds;

  // steps
  Counter steps;
  Histogram step_duration;
  PerLabel<StepPart, Counter> step_part_seconds;
  Histogram step_sequences;
  PerLabel<StepTokenKind, Counter> step_tokens;
  PerLabel<SchedDecision, Counter> decisions;

  // KV pool
  PerLabel<KvBlockState, Gauge> kv_blocks;
  std::array<PerLabel<EvictionOwner, Counter>, kNumLabelValues<EvictionCause>>
      kv_evicted_blocks;  ///< by EvictionCause

 private:
  void make_vllm_families(MetricsRegistry& registry, const EngineMetricsOptions& options);
  void make_request_families(MetricsRegistry& registry);
  void make_step_families(MetricsRegistry& registry);
  void make_kv_families(MetricsRegistry& registry, const EngineMetricsOptions& options);
  void make_tenant_families(MetricsRegistry& registry, const EngineMetricsOptions& options);

  const Clock& clock_;
  Gauge last_step_age_;
  std::atomic<TimePoint::rep> last_step_ticks_{0};
  std::atomic<bool> has_work_{false};
  std::vector<TenantMetrics> tenants_;
};

}  // namespace paceline
