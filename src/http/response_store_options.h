#pragma once

#include <chrono>
#include <cstddef>

namespace paceline {

/// Bounds of the response store, per tenant; keys are `responses.<field>` (`ttl_ms`). API.md §5.1.
struct ResponseStoreOptions {
  /// Finished responses kept.
  std::size_t max_stored = 256;
  /// Bytes of their conversations and objects.
  std::size_t max_stored_bytes = 16777216;
  /// Time a response is kept after it has ended.
  std::chrono::milliseconds ttl{3600000};
};

}  // namespace paceline
