#include "app/shutdown_signals.h"

#include <pthread.h>
#include <unistd.h>

#include "base/check.h"

namespace paceline {

ShutdownSignals::ShutdownSignals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  CHECK(pthread_sigmask(SIG_BLOCK, &set_, nullptr) == 0);
  std::signal(SIGPIPE, SIG_IGN);
}

int ShutdownSignals::wait() const {
  int number = 0;
  CHECK(sigwait(&set_, &number) == 0);
  return number;
}

void ShutdownSignals::raise_from_inside() { CHECK(kill(getpid(), SIGTERM) == 0); }

}  // namespace paceline
