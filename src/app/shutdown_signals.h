#pragma once

#include <csignal>

namespace paceline {

/// Blocks SIGINT and SIGTERM in this thread and all that it starts, so that only
/// ShutdownSignals::wait sees them, and ignores SIGPIPE. Made in `main` before any other thread.
class ShutdownSignals {
 public:
  ShutdownSignals();
  /// Waits for the next signal and returns its number. One thread.
  [[nodiscard]] int wait() const;
  /// Makes wait() return SIGTERM, as if the process had been asked to end. Any thread.
  static void raise_from_inside();

 private:
  sigset_t set_{};
};

}  // namespace paceline
