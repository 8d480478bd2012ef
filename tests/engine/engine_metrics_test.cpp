#include <gtest/gtest.h>

#include <string>

#include "metrics/metric_labels.h"
#include "scheduler/decision_log.h"
#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

TEST(EngineMetricsTest, FinishedRequestIsCountedEverywhere) {
  EngineHarness harness;
  GenerationRequest request = harness.request(std::string(40, 'p'), 5);
  request.sampling.n = 2;
  request.api = Api::kCompletions;
  request.transport = Transport::kSse;

  static_cast<void>(harness.run(std::move(request)));
  static_cast<void>(harness.snapshot_at_rest());

  const auto value = [&](const char* series) { return harness.metric(series); };
  EXPECT_EQ(value(R"(paceline_requests_accepted_total{api="completions",transport="sse"})"), 1);
  EXPECT_EQ(value(R"(paceline_tenant_requests_total{outcome="ok",tenant="anonymous"})"), 1);
  EXPECT_EQ(value(R"(vllm:request_success_total{finished_reason="length",model_name="m"})"), 2);
  EXPECT_EQ(value(R"(vllm:prompt_tokens_total{model_name="m"})"), 40);
  EXPECT_EQ(value(R"(vllm:generation_tokens_total{model_name="m"})"), 10);
  EXPECT_EQ(value(R"(vllm:time_to_first_token_seconds_count{model_name="m"})"), 1);
  EXPECT_EQ(value(R"(vllm:inter_token_latency_seconds_count{model_name="m"})"), 8);
  EXPECT_EQ(value(R"(vllm:e2e_request_latency_seconds_count{model_name="m"})"), 1);
  EXPECT_EQ(value(R"(vllm:request_queue_time_seconds_count{model_name="m"})"), 1);
  EXPECT_EQ(value(R"(vllm:request_params_n_sum{model_name="m"})"), 2);
  EXPECT_EQ(value(R"(vllm:request_params_max_tokens_sum{model_name="m"})"), 5);
  EXPECT_EQ(value(R"(paceline_tenant_tokens_total{kind="completion",tenant="anonymous"})"), 10);
  EXPECT_GT(value("paceline_receipt_cpu_seconds_total"), 0);
}

TEST(EngineMetricsTest, StepsAreCounted) {
  EngineHarness harness;

  static_cast<void>(harness.run(harness.request(std::string(40, 'p'), 5)));
  static_cast<void>(harness.snapshot_at_rest());

  EXPECT_EQ(harness.metric(R"(paceline_step_tokens_total{kind="prefill"})"), 40);
  EXPECT_EQ(harness.metric(R"(paceline_step_tokens_total{kind="decode"})"), 4);
  EXPECT_EQ(harness.metric("paceline_steps_total"),
            static_cast<double>(harness.runner().plans().size()));
  EXPECT_EQ(harness.metric("paceline_step_duration_seconds_count"),
            harness.metric("paceline_steps_total"));
  EXPECT_GT(harness.metric(R"(paceline_step_part_seconds_total{part="sample"})"), 0);
  EXPECT_EQ(harness.metric(R"(paceline_sched_decisions_total{decision="admit"})"), 1);
}

TEST(EngineMetricsTest, GaugesAreZeroAtRest) {
  EngineHarness harness;

  static_cast<void>(harness.run(harness.request(std::string(40, 'p'), 5)));
  static_cast<void>(harness.snapshot_at_rest());

  EXPECT_EQ(harness.metric(R"(vllm:num_requests_running{model_name="m"})"), 0);
  EXPECT_EQ(harness.metric(R"(vllm:num_requests_waiting{model_name="m"})"), 0);
  EXPECT_EQ(harness.metric(R"(vllm:kv_cache_usage_perc{model_name="m"})"), 0);
  EXPECT_EQ(harness.metric(R"(paceline_kv_blocks{state="active"})"), 0);
  EXPECT_EQ(harness.metric(R"(paceline_kv_blocks{state="cached"})") +
                harness.metric(R"(paceline_kv_blocks{state="free"})"),
            256);
  EXPECT_EQ(harness.metric("paceline_waiting_tokens"), 0);
  EXPECT_EQ(harness.metric("paceline_engine_last_step_seconds"), 0);
}

TEST(EngineMetricsTest, PrefixHitsAreCounted) {
  EngineHarness harness;

  static_cast<void>(harness.run(harness.request(std::string(40, 'p'), 2)));
  const Outcome second = harness.run(harness.request(std::string(40, 'p'), 2));
  static_cast<void>(harness.snapshot_at_rest());

  EXPECT_EQ(harness.metric(R"(vllm:prefix_cache_queries_total{model_name="m"})"), 80);
  EXPECT_EQ(harness.metric(R"(vllm:prefix_cache_hits_total{model_name="m"})"),
            second.usage.cached_tokens);
  EXPECT_EQ(harness.metric(R"(vllm:prompt_tokens_cached_total{model_name="m"})"),
            second.usage.cached_tokens);
}

TEST(EngineMetricsTest, AcceptedRequestsAreThoseThatEnded) {
  EngineHarness harness({.scheduler = {.max_context = 100}});

  static_cast<void>(harness.run(harness.request("fine", 2)));
  static_cast<void>(harness.run(harness.request(std::string(100, 'x'), 2)));  // refused
  harness.runner().fail_next(ScriptedModelRunner::Failure::kError);
  static_cast<void>(harness.run(harness.request("fails", 2)));
  const auto cancelled = harness.submit_and_hold(harness.request("cancelled", 90), 2);
  harness.engine().cancel(cancelled->id(), CancelCause::kApi);
  harness.runner().release();
  static_cast<void>(cancelled->finish());
  static_cast<void>(harness.snapshot_at_rest());

  EXPECT_EQ(harness.metric(R"(paceline_requests_accepted_total{api="chat",transport="http"})"), 3);
  for (const char* outcome : {"ok", "cancelled", "error", "rejected"}) {
    EXPECT_EQ(harness.metric(std::string(R"(paceline_tenant_requests_total{outcome=")") + outcome +
                             R"(",tenant="anonymous"})"),
              1)
        << outcome;
  }
  EXPECT_EQ(harness.metric(R"(vllm:request_success_total{finished_reason="abort",model_name="m"})"),
            1);
  EXPECT_EQ(harness.metric(R"(vllm:request_success_total{finished_reason="error",model_name="m"})"),
            1);
}

TEST(EngineMetricsTest, LabelListsAreTheSchedulersEnums) {
  for (std::size_t i = 0; i < kNumDecisions; ++i) {
    EXPECT_EQ(LabelValues<SchedDecision>::names[i], to_string(static_cast<Decision>(i)));
  }
  for (std::size_t i = 0; i < kNumDecisionReasons; ++i) {
    EXPECT_EQ(LabelValues<WaitReason>::names[i], to_string(static_cast<DecisionReason>(i)));
  }
}

}  // namespace
}  // namespace paceline
