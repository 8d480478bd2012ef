#include "metrics/engine_metrics.h"

#include <algorithm>

#include "base/check.h"
#include "metrics/buckets.h"

namespace paceline {

EngineMetrics::EngineMetrics(MetricsRegistry& registry, const Clock& clock,
                             const EngineMetricsOptions& options)
    : clock_(clock) {
  make_vllm_families(registry, options);
  make_request_families(registry);
  make_step_families(registry);
  make_kv_families(registry, options);
  make_tenant_families(registry, options);
  registry.on_scrape([this] {
    const TimePoint last{Duration(last_step_ticks_.load(std::memory_order_relaxed))};
    const bool has_work = has_work_.load(std::memory_order_relaxed);
    last_step_age_.set(has_work ? std::max(0.0, to_seconds(clock_.now() - last)) : 0);
  });
}

std::size_t EngineMetrics::tenant_index(TenantId id) const {
  return std::min(index_of(id), tenants_.size() - 1);
}

void EngineMetrics::set_last_step(TimePoint at, bool has_work) {
  last_step_ticks_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
  has_work_.store(has_work, std::memory_order_relaxed);
}

void EngineMetrics::make_vllm_families(MetricsRegistry& registry,
                                       const EngineMetricsOptions& options) {
  const MetricLabels model = {{"model_name", options.model_name}};
  const auto counter = [&](std::string_view name, std::string_view help) {
    return registry.counter(name, help, model);
  };
  const auto gauge = [&](std::string_view name, std::string_view help) {
    return registry.gauge(name, help, model);
  };
  const auto histogram = [&](std::string_view name, std::string_view help,
                             std::span<const double> bounds) {
    return registry.histogram(name, help, bounds, model);
  };

  requests_running = gauge("vllm:num_requests_running", "Sequences in the batch, paused included.");
  requests_waiting =
      gauge("vllm:num_requests_waiting", "Accepted requests not started, or preempted.");
  kv_cache_usage = gauge("vllm:kv_cache_usage_perc", "Active KV blocks over all blocks, 0 to 1.");
  registry
      .gauge("vllm:cache_config_info", "Shape of the KV cache.",
             {{"model_name", options.model_name},
              {"block_size", std::to_string(options.block_size)},
              {"num_gpu_blocks", std::to_string(options.num_blocks)},
              {"cache_dtype", options.cache_dtype},
              {"enable_prefix_caching", options.prefix_cache ? "True" : "False"}})
      .set(1);
  prefix_cache_queries =
      counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.");
  prefix_cache_hits =
      counter("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.");
  preemptions = counter("vllm:num_preemptions_total", "Sequences preempted for their KV blocks.");
  prompt_tokens = counter("vllm:prompt_tokens_total", "Prompt tokens of ended requests.");
  prompt_tokens_cached =
      counter("vllm:prompt_tokens_cached_total", "Prompt tokens served from the cache.");
  generation_tokens = counter("vllm:generation_tokens_total", "Generated tokens.");
  choices_finished = registry.counters<FinishedReason>(
      "vllm:request_success_total", "Ended choices by reason.", "finished_reason", model);
  ttft = histogram("vllm:time_to_first_token_seconds", "Acceptance to the first token.",
                   buckets::kTtft);
  itl = histogram("vllm:inter_token_latency_seconds", "Time between two tokens of a choice.",
                  buckets::kItl);
  time_per_output_token = histogram("vllm:request_time_per_output_token_seconds",
                                    "Mean time between the tokens of a request.", buckets::kItl);
  e2e = histogram("vllm:e2e_request_latency_seconds", "Acceptance to the end of a request.",
                  buckets::kE2e);
  queue_time = histogram("vllm:request_queue_time_seconds", "Time a request waited to be run.",
                         buckets::kE2e);
  inference_time = histogram("vllm:request_inference_time_seconds",
                             "First scheduling to the end of a request.", buckets::kE2e);
  prefill_time = histogram("vllm:request_prefill_time_seconds",
                           "First scheduling to the first token.", buckets::kE2e);
  decode_time =
      histogram("vllm:request_decode_time_seconds", "First token to the last.", buckets::kE2e);
  request_prompt_tokens =
      histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", buckets::kTokens);
  request_generation_tokens = histogram("vllm:request_generation_tokens",
                                        "Generated tokens of a request.", buckets::kTokens);
  request_max_tokens = histogram("vllm:request_params_max_tokens",
                                 "Effective token cap of a choice.", buckets::kTokens);
  request_n = histogram("vllm:request_params_n", "Choices asked per prompt.", buckets::kChoices);
  iteration_tokens = histogram("vllm:iteration_tokens_total", "Tokens computed in a step.",
                               buckets::kIterationTokens);
}

void EngineMetrics::make_request_families(MetricsRegistry& registry) {
  for (std::size_t api = 0; api < requests_accepted.size(); ++api) {
    requests_accepted[api] = registry.counters<Transport>(
        "paceline_requests_accepted_total", "Requests the engine took on.", "transport",
        {{"api", std::string(LabelValues<Api>::names[api])}});
  }
  for (std::size_t phase = 0; phase < cancellations.size(); ++phase) {
    cancellations[phase] = registry.counters<CancelCause>(
        "paceline_cancellations_total", "Cancelled requests.", "cause",
        {{"phase", std::string(LabelValues<RequestPhase>::names[phase])}});
  }
  cancelled_tokens = registry.counters<TokenKind>(
      "paceline_cancelled_tokens_total", "Tokens of cancelled and failed requests.", "kind");
  waiting_tokens = registry.gauge("paceline_waiting_tokens", "Prompt tokens queued.");
  waiting_by_reason = registry.gauges<WaitReason>("paceline_requests_waiting_by_reason",
                                                  "Waiting sequences by reason.", "reason");
  receipt_cpu_seconds =
      registry.counter("paceline_receipt_cpu_seconds_total", "CPU time handed out in receipts.");
}

void EngineMetrics::make_step_families(MetricsRegistry& registry) {
  steps = registry.counter("paceline_steps_total", "Steps computed.");
  step_duration = registry.histogram("paceline_step_duration_seconds",
                                     "Duration of a step, schedule to commit.", buckets::kStep);
  step_part_seconds = registry.counters<StepPart>("paceline_step_part_seconds_total",
                                                  "Time of the engine thread by part.", "part");
  step_sequences =
      registry.histogram("paceline_step_sequences", "Sequences in a step.", buckets::kSequences);
  step_tokens = registry.counters<StepTokenKind>("paceline_step_tokens_total",
                                                 "Tokens computed in steps.", "kind");
  decisions = registry.counters<SchedDecision>("paceline_sched_decisions_total",
                                               "Decisions of the scheduler.", "decision");
  last_step_age_ =
      registry.gauge("paceline_engine_last_step_seconds", "Age of the last step, 0 without work.");
}

void EngineMetrics::make_kv_families(MetricsRegistry& registry,
                                     const EngineMetricsOptions& options) {
  registry.gauge("paceline_kv_pool_blocks", "Blocks of the KV pool.").set(options.num_blocks);
  registry.gauge("paceline_kv_block_tokens", "Tokens per KV block.").set(options.block_size);
  registry.gauge("paceline_kv_pool_bytes", "Memory of the KV pool.")
      .set(static_cast<double>(options.kv_pool_bytes));
  kv_blocks =
      registry.gauges<KvBlockState>("paceline_kv_blocks", "Blocks of the KV pool.", "state");
  kv_blocks[KvBlockState::kFree].set(options.num_blocks);
  for (std::size_t cause = 0; cause < kv_evicted_blocks.size(); ++cause) {
    kv_evicted_blocks[cause] = registry.counters<EvictionOwner>(
        "paceline_kv_evicted_blocks_total", "Cached blocks given up for new contents.", "owner",
        {{"cause", std::string(LabelValues<EvictionCause>::names[cause])}});
  }
}

void EngineMetrics::make_tenant_families(MetricsRegistry& registry,
                                         const EngineMetricsOptions& options) {
  CHECK(!options.tenant_labels.empty());
  for (const std::string& label : options.tenant_labels) {
    const MetricLabels tenant = {{"tenant", label}};
    TenantMetrics metrics;
    metrics.requests = registry.counters<RequestOutcome>(
        "paceline_tenant_requests_total", "Ended requests of a tenant.", "outcome", tenant);
    metrics.tokens = registry.counters<TokenKind>("paceline_tenant_tokens_total",
                                                  "Tokens of a tenant.", "kind", tenant);
    metrics.running = registry.gauge("paceline_tenant_running", "Sequences in the batch.", tenant);
    metrics.waiting =
        registry.gauge("paceline_tenant_waiting", "Requests not started, or preempted.", tenant);
    metrics.ttft = registry.histogram("paceline_tenant_ttft_seconds",
                                      "Acceptance to the first token.", buckets::kTenant, tenant);
    metrics.itl =
        registry.histogram("paceline_tenant_itl_seconds", "Time between two tokens of a choice.",
                           buckets::kTenant, tenant);
    metrics.queue_time =
        registry.histogram("paceline_tenant_queue_seconds", "Time a request waited to be run.",
                           buckets::kTenant, tenant);
    metrics.cpu_seconds =
        registry.counter("paceline_tenant_cpu_seconds_total", "CPU time of a tenant.", tenant);
    metrics.kv_block_seconds = registry.counter("paceline_tenant_kv_block_seconds_total",
                                                "KV blocks held, times seconds.", tenant);
    tenants_.push_back(metrics);
  }
}

}  // namespace paceline
