#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace paceline {

/// Fixed team of threads for fork-join work inside one step. The calling thread is worker 0, so a
/// team of one starts no thread. Tasks are handed out dynamically, in order; results must not
/// depend on which worker takes a task. Workers spin briefly for the next fork, then sleep on a
/// futex, so a core taken away by another process costs little. Owned by the engine; `parallel_for`
/// is called by one thread at a time and must not be nested.
class ThreadPool {
 public:
  /// Starts `num_threads - 1` threads. Requires: num_threads >= 1.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls task(i, worker) for every i in [0, num_tasks), each once; returns when all have
  /// returned. What they wrote is visible afterwards. Tasks must not throw. Runs inline when
  /// num_tasks <= 1 or the team has one thread.
  void parallel_for(int num_tasks, FunctionRef<void(int task, int worker)> task);

  [[nodiscard]] int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

 private:
  void worker_loop(int worker);
  void run_tasks(int worker);

  std::vector<std::thread> threads_;
  const FunctionRef<void(int, int)>* task_ = nullptr;
  int num_tasks_ = 0;
  alignas(64) std::atomic<int> next_task_{0};
  alignas(64) std::atomic<int> num_active_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace paceline
