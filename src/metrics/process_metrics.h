#pragma once

#include "metrics/registry.h"

namespace paceline {

/// Registers process_cpu_seconds_total, process_resident_memory_bytes and process_open_fds, read
/// from the kernel at every scrape.
void register_process_metrics(MetricsRegistry& registry);

}  // namespace paceline
