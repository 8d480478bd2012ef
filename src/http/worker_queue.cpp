#include "http/worker_queue.h"

#include "base/check.h"

namespace paceline {

WorkerQueue::WorkerQueue(int num_threads, std::size_t max_jobs) : max_jobs_(max_jobs) {
  CHECK(num_threads > 0 && max_jobs > 0);
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run_tasks(); });
}

WorkerQueue::~WorkerQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (auto& thread : threads_) thread.join();
}

bool WorkerQueue::try_push(TenantId tenant, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || num_jobs_ >= max_jobs_) return false;
    queues_[tenant].push_back(std::move(task));
    ++num_jobs_;
  }
  ready_.notify_one();
  return true;
}

void WorkerQueue::run_tasks() {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return stopping_ || num_jobs_ > 0; });
    if (num_jobs_ == 0) return;
    auto next = queues_.upper_bound(last_served_);
    if (next == queues_.end()) next = queues_.begin();
    last_served_ = next->first;
    Task task = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) queues_.erase(next);
    --num_jobs_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace paceline
