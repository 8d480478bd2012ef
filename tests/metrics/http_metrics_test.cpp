#include "metrics/http_metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string_view>

#include "metrics/exposition.h"
#include "tests/metrics/exposition_parser.h"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 2> kRoutes{"POST /v1/chat/completions", "GET /health"};

class HttpMetricsTest : public ::testing::Test {
 protected:
  [[nodiscard]] double value(std::string_view series) const {
    return parse_exposition(exposition(registry_)).value(series);
  }

  MetricsRegistry registry_;
  HttpMetrics metrics_{registry_, kRoutes};
};

TEST_F(HttpMetricsTest, RequestsAreCountedByRouteAndClass) {
  metrics_.count_request(1, 200);
  metrics_.count_request(1, 101);
  metrics_.count_request(1, 503);
  metrics_.count_request(99, 404);

  EXPECT_EQ(value(R"(paceline_http_requests_total{class="2xx",route="GET /health"})"), 2);
  EXPECT_EQ(value(R"(paceline_http_requests_total{class="5xx",route="GET /health"})"), 1);
  EXPECT_EQ(value(R"(paceline_http_requests_total{class="4xx",route="other"})"), 1);
  EXPECT_EQ(value(R"(paceline_http_requests_total{class="2xx",route="POST /v1/chat/completions"})"),
            0);
}

TEST_F(HttpMetricsTest, EveryClientErrorHasASeries) {
  metrics_.count_error(ErrorCode::kInternalError);
  metrics_.count_error(ErrorCode::kBadFile);

  EXPECT_EQ(value(R"(paceline_errors_total{code="internal_error"})"), 1);
  EXPECT_EQ(value(R"(paceline_errors_total{code="invalid_json"})"), 0);
  EXPECT_EQ(value(R"(paceline_errors_total{code="queue_timeout"})"), 0);
  EXPECT_TRUE(std::isnan(value(R"(paceline_errors_total{code="bad_file"})")));
}

TEST_F(HttpMetricsTest, UnknownCloseCodesShareOneSeries) {
  metrics_.count_ws_close(1000);
  metrics_.count_ws_close(4711);
  metrics_.count_ws_close(-1);

  EXPECT_EQ(value(R"(paceline_ws_closes_total{code="1000"})"), 1);
  EXPECT_EQ(value(R"(paceline_ws_closes_total{code="1013"})"), 0);
  EXPECT_EQ(value(R"(paceline_ws_closes_total{code="other"})"), 2);
}

}  // namespace
}  // namespace paceline
