#include "engine/engine.h"

#include <atomic>
#include <thread>
#include <utility>

#include "base/thread_pool.h"
#include "engine/command_queue.h"
#include "engine/engine_loop.h"
#include "engine/model_runner.h"
#include "engine/snapshot_publisher.h"
#include "metrics/engine_metrics.h"
#include "scheduler/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxChoices = 128;

// The model indexes its embedding by these ids, so they are checked here whoever calls.
Result<void> check(const GenerationRequest& request, int vocab_size) {
  if (request.prompts.empty() || request.sampling.n < 1 || request.max_tokens < 0 ||
      request.prompts.size() * static_cast<std::size_t>(request.sampling.n) > kMaxChoices) {
    return fail(ErrorCode::kInvalidValue, "a request has 1 to 128 choices", "n");
  }
  for (const auto& prompt : request.prompts) {
    if (prompt.empty()) return fail(ErrorCode::kInvalidValue, "the prompt is empty", "prompt");
    for (const TokenId id : prompt) {
      if (raw(id) < 0 || raw(id) >= vocab_size) {
        return fail(
            ErrorCode::kInvalidValue,
            "the prompt has token " + std::to_string(raw(id)) + ", which the model does not have",
            "prompt");
      }
    }
  }
  return validate(request.sampling, vocab_size);
}

}  // namespace

class Engine::Impl {
 public:
  Impl(const EngineOptions& options, EngineLoop::Parts parts)
      : options_(options),
        commands_(static_cast<std::size_t>(options.max_commands)),
        publisher_(parts.metrics, parts.clock, options.block_size),
        loop_(options, std::move(parts), commands_, publisher_) {}

  const EngineOptions options_;
  CommandQueue commands_;
  SnapshotPublisher publisher_;
  EngineLoop loop_;
  std::atomic<std::uint64_t> next_request_id_{1};
  std::thread thread_;
  bool is_stopped_ = false;
};

Engine::Engine(EngineOptions options, std::unique_ptr<Scheduler> scheduler,
               std::unique_ptr<ModelRunner> runner, std::shared_ptr<const Tokenizer> tokenizer,
               EngineMetrics& metrics, const Clock& clock, ThreadPool* team)
    : impl_(std::make_unique<Impl>(
          options, EngineLoop::Parts{std::move(scheduler), std::move(runner), std::move(tokenizer),
                                     metrics, clock, team})) {}

Engine::~Engine() { stop(); }

void Engine::start() {
  impl_->thread_ = std::thread([this] { impl_->loop_.run(); });
}

void Engine::stop() {
  if (std::exchange(impl_->is_stopped_, true)) return;
  impl_->commands_.stop();
  if (impl_->thread_.joinable()) {
    impl_->thread_.join();
  } else {
    impl_->loop_.run();  // never started: answers what was submitted
  }
}

Result<std::shared_ptr<OutputStream>> Engine::submit(GenerationRequest request,
                                                     std::shared_ptr<OutputBudget> budget,
                                                     std::function<void()> wake) {
  if (auto valid = check(request, impl_->options_.vocab_size); !valid) {
    return tl::unexpected(std::move(valid.error()));
  }
  auto stream = std::make_shared<OutputStream>(std::move(budget), std::move(wake));
  if (auto queued = impl_->commands_.submit({std::move(request), stream}); !queued) {
    return tl::unexpected(std::move(queued.error()));
  }
  return stream;
}

void Engine::cancel(RequestId id, CancelCause cause) { impl_->commands_.cancel(id, cause); }
void Engine::resume(RequestId id) { impl_->commands_.resume(id); }
void Engine::drain(TimePoint deadline) { impl_->commands_.drain(deadline); }
bool Engine::is_drained() const { return impl_->commands_.is_drained(); }

RequestId Engine::next_request_id() {
  return RequestId{impl_->next_request_id_.fetch_add(1, std::memory_order_relaxed)};
}

std::shared_ptr<const EngineSnapshot> Engine::snapshot() const {
  return impl_->publisher_.latest();
}

const EngineOptions& Engine::options() const { return impl_->options_; }

}  // namespace paceline
