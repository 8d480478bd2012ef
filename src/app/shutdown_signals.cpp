#include "app/shutdown_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace paceline {
namespace {

// A signal handler has no other way to its object.
volatile std::sig_atomic_t write_end = -1;

void send(int number) {
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe already holds more signals than anyone waits for.
  const auto written = ::write(write_end, &byte, 1);
  static_cast<void>(written);
}

void on_signal(int number) {
  const int saved = errno;
  send(number);
  errno = saved;
}

}  // namespace

ShutdownSignals::ShutdownSignals() {
  CHECK(write_end == -1);
  std::array<int, 2> ends{};
  CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
  CHECK(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  read_end_ = ends[0];
  write_end = ends[1];
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  CHECK(::sigaction(SIGINT, &action, nullptr) == 0);
  CHECK(::sigaction(SIGTERM, &action, nullptr) == 0);
  std::signal(SIGPIPE, SIG_IGN);
}

ShutdownSignals::~ShutdownSignals() {
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) std::signal(number, SIG_DFL);
  ::close(write_end);
  ::close(read_end_);
  write_end = -1;
}

int ShutdownSignals::wait() const {
  unsigned char byte = 0;
  while (::read(read_end_, &byte, 1) != 1) CHECK(errno == EINTR);
  return byte;
}

void ShutdownSignals::notify() const { send(SIGTERM); }

}  // namespace paceline
