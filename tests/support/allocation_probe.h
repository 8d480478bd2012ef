#pragma once

#include <cstddef>

namespace paceline {

/// Watches the sizes that the whole program asks operator new for. Linking it replaces the global
/// operators. One probe at a time.
class AllocationProbe {
 public:
  /// Starts to watch.
  AllocationProbe();
  /// Largest single request since the start, bytes.
  [[nodiscard]] std::size_t largest() const;
};

}  // namespace paceline
