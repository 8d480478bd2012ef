#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace paceline {

/// Threads for work that is too long for an I/O thread: parsing large bodies, templates,
/// tokenising. Takes jobs from the tenants in turn, within a tenant in order of arrival. Bounded:
/// when full, run() answers kServerOverloaded. Owned by the server. Any thread.
class WorkerQueue {
 public:
  /// Requires: num_threads > 0, max_jobs > 0.
  WorkerQueue(int num_threads, std::size_t max_jobs);
  /// Runs what is queued, then ends the threads.
  ~WorkerQueue();
  WorkerQueue(const WorkerQueue&) = delete;
  WorkerQueue& operator=(const WorkerQueue&) = delete;

  /// Runs `job` on a worker thread and returns its result on the caller's executor. The job owns
  /// what it needs by value; it is called once. Errors: those of the job; kServerOverloaded.
  template <typename Job>
  [[nodiscard]] boost::asio::awaitable<std::invoke_result_t<Job&>> run(TenantId tenant, Job job) {
    using R = std::invoke_result_t<Job&>;
    struct Slot {
      std::optional<R> result;
      std::exception_ptr failure;
    };
    // Both ends hold slot and job: a coroutine that is destroyed leaves the worker something to
    // write to.
    auto slot = std::make_shared<Slot>();
    auto shared_job = std::make_shared<Job>(std::move(job));
    // Named: g++ 12 loses what a lambda inside the co_await expression captured.
    auto initiate = [this, tenant, slot, shared_job](auto handler) {
      auto executor = boost::asio::get_associated_executor(handler);
      auto resume = std::make_shared<decltype(handler)>(std::move(handler));
      auto finish = [executor, resume] {
        boost::asio::post(executor, [resume] { std::move (*resume)(); });
      };
      const bool is_queued = try_push(tenant, [slot, shared_job, finish] {
        try {
          slot->result.emplace((*shared_job)());
        } catch (...) {
          slot->failure = std::current_exception();
        }
        finish();
      });
      if (!is_queued) finish();
    };
    co_await boost::asio::async_initiate<decltype(boost::asio::use_awaitable), void()>(
        initiate, boost::asio::use_awaitable);
    if (slot->failure) std::rethrow_exception(slot->failure);
    if (!slot->result) {
      co_return fail(ErrorCode::kServerOverloaded, "too many requests are being prepared");
    }
    co_return std::move(*slot->result);
  }

 private:
  using Task = std::function<void()>;

  [[nodiscard]] bool try_push(TenantId tenant, Task task);
  void run_tasks();

  const std::size_t max_jobs_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::map<TenantId, std::deque<Task>> queues_;  // by tenant; none empty
  TenantId last_served_{};
  std::size_t num_jobs_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace paceline
