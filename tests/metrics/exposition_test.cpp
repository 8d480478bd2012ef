#include "metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "base/clock.h"
#include "metrics/engine_metrics.h"
#include "metrics/http_metrics.h"
#include "metrics/process_metrics.h"
#include "metrics/server_metrics.h"
#include "tests/metrics/exposition_parser.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

constexpr std::array<std::string_view, 2> kRoutes{"POST /v1/chat/completions", "GET /health"};

// Everything a process registers, as the app composes it.
struct AllMetrics {
  MetricsRegistry registry;
  SteadyClock clock;
  EngineMetrics engine{
      registry, clock, {.model_name = "qwen\"2.5\\x\n0.5b", .block_size = 16, .num_blocks = 64}};
  HttpMetrics http{registry, kRoutes};
  ServerMetrics server{registry, {.version = "0.1.0", .commit = "abc", .isa = "avx2"}};

  AllMetrics() { register_process_metrics(registry); }
  [[nodiscard]] Exposition parsed() const { return parse_exposition(exposition(registry)); }
};

TEST(ExpositionTest, IsValidBeforeAnyRequest) {
  const AllMetrics metrics;

  const Exposition parsed = metrics.parsed();

  EXPECT_THAT(parsed.errors, IsEmpty());
  EXPECT_GT(parsed.families.size(), 60U);
}

TEST(ExpositionTest, IsValidAfterObservations) {
  AllMetrics metrics;
  for (const double seconds : {0.05, 0.5, 5.0, 1e6}) metrics.engine.ttft.observe(seconds);
  metrics.engine.choices_finished[FinishedReason::kStop].add();
  metrics.http.count_request(0, 200);
  metrics.http.connections.add(1);

  const Exposition parsed = metrics.parsed();

  EXPECT_THAT(parsed.errors, IsEmpty());
}

TEST(ExpositionTest, EscapesLabelValues) {
  const AllMetrics metrics;

  const std::string text = exposition(metrics.registry);

  EXPECT_NE(text.find(R"(vllm:num_requests_running{model_name="qwen\"2.5\\x\n0.5b"} 0)"),
            std::string::npos);
}

TEST(ExpositionTest, LatenciesOfDifferentOrdersFallInDifferentFiniteBuckets) {
  AllMetrics metrics;
  for (const double seconds : {0.05, 0.5, 5.0}) metrics.engine.ttft.observe(seconds);

  const Exposition parsed = metrics.parsed();

  const auto bucket = [&](std::string_view le) {
    return parsed.value(
        R"(vllm:time_to_first_token_seconds_bucket{model_name="qwen\"2.5\\x\n0.5b",le=")" +
        std::string(le) + "\"}");
  };
  EXPECT_EQ(bucket("0.04"), 0);
  EXPECT_EQ(bucket("0.06"), 1);
  EXPECT_EQ(bucket("0.5"), 2);
  EXPECT_EQ(bucket("5"), 3);
}

TEST(ExpositionTest, ObservationOnABoundFallsInItsBucket) {
  AllMetrics metrics;
  metrics.engine.step_duration.observe(0.01);

  const Exposition parsed = metrics.parsed();

  EXPECT_EQ(parsed.value(R"(paceline_step_duration_seconds_bucket{le="0.0075"})"), 0);
  EXPECT_EQ(parsed.value(R"(paceline_step_duration_seconds_bucket{le="0.01"})"), 1);
}

TEST(ExpositionTest, StaysSmall) {
  const AllMetrics metrics;

  EXPECT_LT(exposition(metrics.registry).size(), 200'000U);
}

TEST(ExpositionTest, ReadsTheProcessAtEveryScrape) {
  const AllMetrics metrics;

  const Exposition parsed = metrics.parsed();

  EXPECT_GT(parsed.value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(parsed.value("process_open_fds"), 2);
  EXPECT_GT(parsed.value("process_cpu_seconds_total"), 0);
}

TEST(ExpositionParserTest, FindsEveryKindOfFault) {
  const auto errors = [](std::string_view text) { return parse_exposition(text).errors.size(); };
  const std::string head = "# HELP a_total x\n# TYPE a_total counter\n";

  EXPECT_EQ(errors(head + "a_total 1\n"), 0U);
  EXPECT_GT(errors(head + "a_total 1"), 0U) << "no newline";
  EXPECT_GT(errors(head + "a_total 1\na_total 2\n"), 0U) << "series twice";
  EXPECT_GT(errors(head + "b_total 1\n"), 0U) << "foreign sample";
  EXPECT_GT(errors(head + "a_total NaN\n"), 0U) << "not finite";
  EXPECT_GT(errors(head + "a_total{1x=\"\"} 1\n"), 0U) << "label name";
  EXPECT_GT(errors(head + head + "a_total 1\n"), 0U) << "second HELP";
  EXPECT_GT(errors("# HELP a x\n# TYPE a counter\na 1\n"), 0U) << "no _total";
  EXPECT_GT(errors("# HELP h x\n# TYPE h histogram\nh_bucket{le=\"1\"} 2\n"
                   "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n"),
            0U)
      << "falling buckets";
}

}  // namespace
}  // namespace paceline
