#include "base/thread_pool.h"

#include "base/check.h"

namespace paceline {
namespace {

// About 20 µs of pause instructions on current processors: longer than the serial parts between two
// forks of a layer, much shorter than a scheduler tick.
constexpr int kSpinIterations = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  CHECK(num_threads >= 1);
  threads_.reserve(static_cast<std::size_t>(num_threads - 1));
  for (int worker = 1; worker < num_threads; ++worker) {
    threads_.emplace_back([this, worker] { worker_loop(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadPool::parallel_for(int num_tasks, FunctionRef<void(int task, int worker)> task) {
  if (num_tasks <= 1 || threads_.empty()) {
    for (int i = 0; i < num_tasks; ++i) task(i, 0);
    return;
  }
  task_ = &task;
  num_tasks_ = num_tasks;
  next_task_.store(0, std::memory_order_relaxed);
  num_active_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  run_tasks(0);
  for (int spins = 0;; ++spins) {
    const int active = num_active_.load(std::memory_order_acquire);
    if (active == 0) return;
    if (spins < kSpinIterations) {
      pause_briefly();
    } else {
      num_active_.wait(active, std::memory_order_acquire);
    }
  }
}

void ThreadPool::worker_loop(int worker) {
  std::uint32_t seen = 0;
  while (true) {
    std::uint32_t current = generation_.load(std::memory_order_acquire);
    for (int spins = 0; current == seen; ++spins) {
      if (spins < kSpinIterations) {
        pause_briefly();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
      current = generation_.load(std::memory_order_acquire);
    }
    seen = current;
    if (stopping_.load(std::memory_order_relaxed)) return;
    run_tasks(worker);
    if (num_active_.fetch_sub(1, std::memory_order_acq_rel) == 1) num_active_.notify_one();
  }
}

void ThreadPool::run_tasks(int worker) {
  while (true) {
    const int i = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (i >= num_tasks_) return;
    (*task_)(i, worker);
  }
}

}  // namespace paceline
