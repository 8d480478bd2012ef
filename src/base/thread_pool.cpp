#include "base/thread_pool.h"

#include <chrono>

#include "base/check.h"

namespace paceline {
namespace {

/// Longer than the serial parts between two forks of a layer, about what waking a sleeping thread
/// costs, and much shorter than a scheduler's time slice.
constexpr std::chrono::microseconds kSpinTime{50};
/// Pauses between two looks at the clock: 16 pauses are 0.2 to 0.8 µs on current processors.
constexpr int kPausesPerClockRead = 16;

constexpr int kTaskBits = 24;
constexpr std::uint64_t kTaskMask = (std::uint64_t{1} << kTaskBits) - 1;

constexpr std::uint64_t make_ticket(std::uint64_t fork, int num_tasks) {
  return fork << (2 * kTaskBits) | static_cast<std::uint64_t>(num_tasks) << kTaskBits;
}
constexpr int tasks_of(std::uint64_t ticket) {
  return static_cast<int>(ticket >> kTaskBits & kTaskMask);
}
constexpr int next_of(std::uint64_t ticket) { return static_cast<int>(ticket & kTaskMask); }

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `ready()` or kSpinTime has passed; returns the last answer.
template <typename Ready>
bool spin_until(Ready ready) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (ready()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < kSpinTime);
  return ready();
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
  forks_.fetch_add(1, std::memory_order_release);
  forks_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadPool::parallel_for(int num_tasks, FunctionRef<void(int task, int worker)> task) {
  if (num_tasks <= 1 || threads_.empty()) {
    for (int i = 0; i < num_tasks; ++i) task(i, 0);
    return;
  }
  CHECK(num_tasks <= kMaxTasks);
  task_ = &task;
  done_.store(0, std::memory_order_relaxed);
  const std::uint64_t fork = (ticket_.load(std::memory_order_relaxed) >> (2 * kTaskBits)) + 1;
  ticket_.store(make_ticket(fork, num_tasks), std::memory_order_release);
  forks_.fetch_add(1, std::memory_order_release);
  forks_.notify_all();
  run_tasks(0);
  wait_until_done(num_tasks);
}

void ThreadPool::wait_until_done(int num_tasks) {
  const auto is_done = [&] { return done_.load(std::memory_order_acquire) == num_tasks; };
  if (spin_until(is_done)) return;
  for (auto done = done_.load(std::memory_order_acquire); done != num_tasks;
       done = done_.load(std::memory_order_acquire)) {
    done_.wait(done, std::memory_order_acquire);
  }
}

void ThreadPool::worker_loop(int worker) {
  std::int32_t seen = 0;
  while (true) {
    const auto has_new_fork = [&] { return forks_.load(std::memory_order_acquire) != seen; };
    if (!spin_until(has_new_fork)) forks_.wait(seen, std::memory_order_acquire);
    seen = forks_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_relaxed)) return;
    run_tasks(worker);
  }
}

void ThreadPool::run_tasks(int worker) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (next_of(ticket) < tasks_of(ticket)) {
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    const int num_tasks = tasks_of(ticket);
    (*task_)(next_of(ticket), worker);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_tasks) done_.notify_one();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

}  // namespace paceline
