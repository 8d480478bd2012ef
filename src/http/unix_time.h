#pragma once

#include <chrono>
#include <cstdint>

namespace paceline {

/// Seconds since 1970 of the system's clock, for times that clients see.
inline std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace paceline
