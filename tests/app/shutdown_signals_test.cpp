#include "app/shutdown_signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace paceline {
namespace {

TEST(ShutdownSignalsTest, SignalsArriveInOrder) {
  const ShutdownSignals signals;

  std::raise(SIGTERM);
  std::raise(SIGINT);

  EXPECT_EQ(signals.wait(), SIGTERM);
  EXPECT_EQ(signals.wait(), SIGINT);
}

TEST(ShutdownSignalsTest, SignalTakenByAnotherThreadIsNotLost) {
  const ShutdownSignals signals;

  std::thread([] { std::raise(SIGTERM); }).join();  // raise() aims at the calling thread

  EXPECT_EQ(signals.wait(), SIGTERM);
}

TEST(ShutdownSignalsTest, NotificationEndsTheWait) {
  const ShutdownSignals signals;

  std::thread notifier([&signals] { signals.notify(); });

  EXPECT_EQ(signals.wait(), SIGTERM);
  notifier.join();
}

}  // namespace
}  // namespace paceline
