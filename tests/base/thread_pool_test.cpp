#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <numeric>
#include <thread>
#include <vector>

namespace paceline {
namespace {

TEST(ThreadPoolTest, EveryTaskRunsOnce) {
  for (const int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    for (const int num_tasks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(num_tasks));

      pool.parallel_for(num_tasks, [&](int task, int) { ++calls[static_cast<std::size_t>(task)]; });

      for (const auto& count : calls) EXPECT_EQ(count, 1) << num_threads << " threads";
    }
  }
}

TEST(ThreadPoolTest, WorkerNumbersAreWithinTheTeam) {
  ThreadPool pool(3);
  std::atomic<int> outside{0};

  pool.parallel_for(1000, [&](int, int worker) {
    if (worker < 0 || worker >= pool.num_threads()) ++outside;
  });

  EXPECT_EQ(outside, 0);
  EXPECT_EQ(pool.num_threads(), 3);
}

TEST(ThreadPoolTest, OneTaskRunsOnTheCallingThread) {
  ThreadPool pool(2);
  std::thread::id ran_on;

  pool.parallel_for(1, [&](int, int) { ran_on = std::this_thread::get_id(); });

  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

// Plain memory on purpose: a missing happens-before edge is a data race that TSan reports.
TEST(ThreadPoolTest, WritesOfTasksAreVisibleAfterTheJoinAndToTheNextFork) {
  ThreadPool pool(3);
  std::vector<int> values(64, 0);

  for (int round = 0; round < 2000; ++round) {
    pool.parallel_for(64, [&](int task, int) { ++values[static_cast<std::size_t>(63 - task)]; });
    pool.parallel_for(64, [&](int task, int) { ++values[static_cast<std::size_t>(task)]; });
  }

  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 64 * 4000);
  EXPECT_EQ(values, std::vector<int>(64, 4000));
}

TEST(ThreadPoolTest, ManyShortForksOfChangingSizeLoseNothing) {
  ThreadPool pool(4);
  std::atomic<long> sum{0};
  long expected = 0;

  for (int round = 0; round < 5000; ++round) {
    const int num_tasks = round % 7;
    expected += num_tasks * (num_tasks - 1) / 2;
    pool.parallel_for(num_tasks, [&](int task, int) { sum += task; });
  }

  EXPECT_EQ(sum, expected);
}

TEST(ThreadPoolTest, WorkersThatFellAsleepTakePartAgain) {
  ThreadPool pool(2);
  std::atomic<bool> both_arrived{false};
  std::atomic<int> arrived{0};
  const auto meet = [&](int, int) {
    if (++arrived == 2) both_arrived = true;
    both_arrived.wait(false);
    both_arrived.notify_all();
  };
  pool.parallel_for(2, meet);
  // Longer than the time for which a worker spins before it sleeps.
  const auto wake_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < wake_at) std::this_thread::yield();
  both_arrived = false;
  arrived = 0;

  pool.parallel_for(2, meet);

  EXPECT_EQ(arrived, 2);
}

std::atomic<bool> worker_is_held{false};
std::atomic<bool> worker_may_go{false};

void hold_this_thread(int) {
  worker_is_held = true;
  while (!worker_may_go) std::this_thread::yield();
}

TEST(ThreadPoolTest, ForkDoesNotWaitForAWorkerThatTookNoTask) {
  worker_is_held = false;
  worker_may_go = false;
  ThreadPool pool(2);
  std::atomic<pthread_t> worker_thread{};
  std::atomic<int> arrived{0};
  pool.parallel_for(2, [&](int, int worker) {
    if (worker == 1) worker_thread = pthread_self();
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  // Stop the worker outside a task, as if its core had been taken away.
  struct sigaction action = {};
  struct sigaction previous = {};
  action.sa_handler = hold_this_thread;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &previous), 0);
  ASSERT_EQ(pthread_kill(worker_thread, SIGUSR1), 0);
  while (!worker_is_held) std::this_thread::yield();
  int calls_by_caller = 0;

  pool.parallel_for(100, [&](int, int worker) { calls_by_caller += worker == 0 ? 1 : 0; });

  EXPECT_EQ(calls_by_caller, 100);
  worker_may_go = true;
  std::atomic<int> calls{0};
  pool.parallel_for(100, [&](int, int) { ++calls; });
  EXPECT_EQ(calls, 100);
  ASSERT_EQ(sigaction(SIGUSR1, &previous, nullptr), 0);
}

}  // namespace
}  // namespace paceline
