#pragma once

#include <optional>
#include <string_view>

namespace paceline {

/// Returns how many processors this process may use: the smaller of its affinity mask and its
/// cgroup's quota (version 2 or 1), rounded down, at least 1.
[[nodiscard]] int available_processors();

/// Reads a cgroup-v2 `cpu.max` line, `<quota> <period>` in microseconds; nothing when there is no
/// quota or the text is something else. Units: processors.
[[nodiscard]] std::optional<double> parse_cpu_max(std::string_view text);

}  // namespace paceline
