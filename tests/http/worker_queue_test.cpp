#include "http/worker_queue.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

namespace paceline {
namespace {

namespace asio = boost::asio;

constexpr TenantId kA{1};
constexpr TenantId kB{2};

/// Spawns run(job) and keeps its result.
template <typename Job>
void spawn(asio::io_context& io, WorkerQueue& queue, TenantId tenant, Job job,
           std::vector<Result<int>>& results) {
  asio::co_spawn(
      io,
      [](WorkerQueue& q, TenantId t, Job j,
         std::vector<Result<int>>& out) -> asio::awaitable<void> {
        auto result = co_await q.run(t, std::move(j));
        out.push_back(std::move(result));
      }(queue, tenant, std::move(job), results),
      asio::detached);
}

TEST(WorkerQueueTest, ResultComesBackOnTheCallersThread) {
  asio::io_context io;
  WorkerQueue queue(1, 8);
  std::vector<Result<int>> results;
  const auto caller = std::this_thread::get_id();
  std::thread::id worker;
  spawn(
      io, queue, kA,
      [&worker]() -> Result<int> {
        worker = std::this_thread::get_id();
        return 7;
      },
      results);

  io.run();

  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].value(), 7);
  EXPECT_NE(worker, caller);
}

TEST(WorkerQueueTest, TenantsTakeTurns) {
  asio::io_context io;
  WorkerQueue queue(1, 16);
  std::vector<Result<int>> results;
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::promise<void> started;
  std::vector<std::string> order;
  spawn(
      io, queue, kA,
      [opened, &started]() -> Result<int> {
        started.set_value();
        opened.wait();
        return 0;
      },
      results);
  io.poll();
  started.get_future().wait();
  for (int i = 0; i < 3; ++i) {
    spawn(
        io, queue, kA,
        [&order]() -> Result<int> {
          order.emplace_back("A");
          return 0;
        },
        results);
  }
  for (int i = 0; i < 2; ++i) {
    spawn(
        io, queue, kB,
        [&order]() -> Result<int> {
          order.emplace_back("B");
          return 0;
        },
        results);
  }
  io.poll();

  open.set_value();
  io.run();

  EXPECT_EQ(order, (std::vector<std::string>{"B", "A", "B", "A", "A"}));
}

TEST(WorkerQueueTest, JobAboveTheBoundIsRefused) {
  asio::io_context io;
  WorkerQueue queue(1, 1);
  std::vector<Result<int>> results;
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future().share();
  std::promise<void> started;
  spawn(
      io, queue, kA,
      [opened, &started]() -> Result<int> {
        started.set_value();
        opened.wait();
        return 0;
      },
      results);
  io.poll();
  started.get_future().wait();
  spawn(
      io, queue, kA, []() -> Result<int> { return 1; }, results);
  spawn(
      io, queue, kA, []() -> Result<int> { return 2; }, results);
  io.poll();

  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].error().code, ErrorCode::kServerOverloaded);
  open.set_value();
  io.run();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[2].value(), 1);
}

TEST(WorkerQueueTest, ExceptionOfAJobReachesItsCaller) {
  asio::io_context io;
  WorkerQueue queue(1, 8);
  bool caught = false;
  asio::co_spawn(
      io,
      [](WorkerQueue& q, bool& out) -> asio::awaitable<void> {
        try {
          auto job = []() -> Result<int> { throw std::runtime_error("no"); };
          static_cast<void>(co_await q.run(kA, job));
        } catch (const std::runtime_error&) {
          out = true;
        }
      }(queue, caught),
      asio::detached);

  io.run();

  EXPECT_TRUE(caught);
}

}  // namespace
}  // namespace paceline
