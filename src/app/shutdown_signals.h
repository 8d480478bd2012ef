#pragma once

namespace paceline {

/// Turns SIGINT and SIGTERM into bytes of a pipe that one thread waits on, and ignores SIGPIPE. A
/// handler and not a blocked mask, since libraries may have started threads before `main` that
/// block nothing. One object per process, made first in a command.
class ShutdownSignals {
 public:
  ShutdownSignals();
  /// Restores the default actions.
  ~ShutdownSignals();
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  /// Waits for the next signal, or notify(), and returns its number. One thread.
  [[nodiscard]] int wait() const;
  /// Makes wait() return SIGTERM, as if the process had been asked to end. Any thread.
  void notify() const;

 private:
  int read_end_ = -1;
};

}  // namespace paceline
