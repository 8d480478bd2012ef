#include "metrics/engine_metrics.h"

#include <gtest/gtest.h>

#include "metrics/exposition.h"
#include "tests/metrics/exposition_parser.h"

namespace paceline {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

class EngineMetricsTest : public ::testing::Test {
 protected:
  [[nodiscard]] Exposition parsed() const { return parse_exposition(exposition(registry_)); }

  MetricsRegistry registry_;
  HandClock clock_;
  EngineMetrics metrics_{registry_,
                         clock_,
                         {.model_name = "m",
                          .cache_dtype = "bf16",
                          .block_size = 32,
                          .num_blocks = 100,
                          .kv_pool_bytes = 4096,
                          .tenant_labels = {"anonymous", "acme", "other"}}};
};

TEST_F(EngineMetricsTest, FixedListsExistFromTheStart) {
  const Exposition all = parsed();

  for (const char* series :
       {R"(vllm:request_success_total{finished_reason="abort",model_name="m"})",
        R"(paceline_requests_accepted_total{api="embeddings",transport="ws"})",
        R"(paceline_cancellations_total{cause="slow_reader",phase="paused"})",
        R"(paceline_step_part_seconds_total{part="idle"})",
        R"(paceline_sched_decisions_total{decision="skip_ahead"})",
        R"(paceline_kv_evicted_blocks_total{cause="ceiling",owner="other"})",
        R"(paceline_tenant_requests_total{outcome="ok",tenant="acme"})",
        R"(paceline_tenant_tokens_total{kind="cached",tenant="other"})"}) {
    EXPECT_EQ(all.value(series), 0) << series;
  }
}

TEST_F(EngineMetricsTest, PoolIsFreeAtTheStart) {
  const Exposition all = parsed();

  EXPECT_EQ(all.value("paceline_kv_pool_blocks"), 100);
  EXPECT_EQ(all.value("paceline_kv_block_tokens"), 32);
  EXPECT_EQ(all.value("paceline_kv_pool_bytes"), 4096);
  EXPECT_EQ(all.value(R"(paceline_kv_blocks{state="free"})"), 100);
  EXPECT_EQ(all.value(R"(paceline_kv_blocks{state="active"})"), 0);
  EXPECT_EQ(all.value(R"(vllm:cache_config_info{block_size="32",cache_dtype="bf16",)"
                      R"(enable_prefix_caching="True",model_name="m",num_gpu_blocks="100"})"),
            1);
}

TEST_F(EngineMetricsTest, AgeOfTheLastStepIsComputedWhenScraped) {
  metrics_.set_last_step(clock_.now(), true);
  clock_.advance(std::chrono::seconds(3));

  EXPECT_EQ(parsed().value("paceline_engine_last_step_seconds"), 3);

  metrics_.set_last_step(clock_.now(), false);
  clock_.advance(std::chrono::seconds(3));

  EXPECT_EQ(parsed().value("paceline_engine_last_step_seconds"), 0);
}

TEST_F(EngineMetricsTest, TenantsBeyondTheLabelsShareTheLast) {
  metrics_.tenant(TenantId{0}).requests[RequestOutcome::kOk].add();
  metrics_.tenant(TenantId{7}).requests[RequestOutcome::kOk].add();
  metrics_.tenant(TenantId{8}).requests[RequestOutcome::kOk].add();

  const Exposition all = parsed();

  EXPECT_EQ(all.value(R"(paceline_tenant_requests_total{outcome="ok",tenant="anonymous"})"), 1);
  EXPECT_EQ(all.value(R"(paceline_tenant_requests_total{outcome="ok",tenant="other"})"), 2);
}

}  // namespace
}  // namespace paceline
