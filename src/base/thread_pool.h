#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace paceline {

/// Fixed team of threads for fork-join work inside one step. The calling thread is worker 0, so a
/// team of one starts no thread. Tasks are handed out dynamically, in order; results must not
/// depend on which worker takes a task. A fork waits only for tasks that were taken: a worker that
/// the system has not scheduled takes none and delays nobody. Workers spin briefly for the next
/// fork, then sleep on a futex. Owned by the engine; `parallel_for` is called by one thread at a
/// time and must not be nested.
///
/// Invariant: a task is taken by raising the ticket's `next`, which succeeds only while next < num;
/// `done_` counts the tasks that have returned. The fork ends when done_ == num, so whoever holds a
/// taken task may use task_, and nobody else reads it.
class ThreadPool {
 public:
  /// Most tasks of one fork.
  static constexpr int kMaxTasks = (1 << 24) - 1;

  /// Starts `num_threads - 1` threads. Requires: num_threads >= 1.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls task(i, worker) for every i in [0, num_tasks), each once; returns when all have
  /// returned. What they wrote is visible afterwards. Tasks must not throw. Runs inline when
  /// num_tasks <= 1 or the team has one thread. Requires: num_tasks <= kMaxTasks.
  void parallel_for(int num_tasks, FunctionRef<void(int task, int worker)> task);

  [[nodiscard]] int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

 private:
  void worker_loop(int worker);
  void run_tasks(int worker);
  void wait_until_done(int num_tasks);

  std::vector<std::thread> threads_;
  const FunctionRef<void(int, int)>* task_ = nullptr;
  /// fork number (16 bits) | number of tasks (24) | next task (24)
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::int32_t> done_{0};
  /// Raised at every fork; what sleeping workers wait on.
  alignas(64) std::atomic<std::int32_t> forks_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace paceline
