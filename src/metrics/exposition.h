#pragma once

#include <string>
#include <string_view>

#include "metrics/registry.h"

namespace paceline {

/// Content type of exposition().
inline constexpr std::string_view kExpositionContentType =
    "text/plain; version=0.0.4; charset=utf-8";

/// Returns the body of GET /metrics: every family once with HELP and TYPE, families and series in
/// alphabetical order, ending with a newline.
/// Source: Prometheus text exposition format 0.0.4.
[[nodiscard]] std::string exposition(const MetricsRegistry& registry);

}  // namespace paceline
