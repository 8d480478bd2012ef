#include "metrics/exposition.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace paceline {

std::string exposition(const MetricsRegistry& registry) {
  std::vector<prometheus::MetricFamily> families;
  registry.scrape([&](const prometheus::Registry& all) { families = all.Collect(); });
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  for (auto& family : families) {
    std::ranges::sort(family.metric, {}, &prometheus::ClientMetric::label);
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

}  // namespace paceline
