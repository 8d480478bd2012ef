// Cost of one Scheduler::schedule() with a long queue of many tenants; the aim is 100 µs with
// 10 000 waiting requests of 1 000 tenants (docs/architecture.md, scheduler).

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "scheduler/scheduler.h"

namespace paceline {
namespace {

constexpr int kPromptTokens = 200;
constexpr unsigned kNumTenants = 1000;

SchedulerOptions options() {
  SchedulerOptions options;
  options.block_size = 16;
  options.num_blocks = 4096;
  options.max_context = 32768;
  options.max_queued = 100'000;
  options.max_queued_tokens = 100'000'000;
  return options;
}

/// Keeps `num_waiting` requests of all tenants in the queue; every sequence ends after
/// `num_new_tokens`.
class BusyScheduler {
 public:
  BusyScheduler(int num_waiting, int num_new_tokens)
      : num_new_tokens_(num_new_tokens), scheduler_(options(), clock_) {
    for (int i = 0; i < num_waiting; ++i) add();
  }

  /// Runs one step; returns the time spent in schedule().
  Duration step() {
    const TimePoint start = clock_.now();
    const StepPlan& plan = scheduler_.schedule();
    const Duration duration = clock_.now() - start;
    results_.clear();
    for (const SequenceStep& s : plan.sequences) {
      if (s.num_logits_rows == 0) continue;
      const Sequence& sequence = *scheduler_.find(s.sequence);
      const bool finished = sequence.num_generated_tokens() + 1 == num_new_tokens_;
      results_.push_back({s.sequence, true, TokenId{7}, finished});
    }
    scheduler_.commit(results_, std::chrono::milliseconds(20));
    for (std::size_t i = 0; i < scheduler_.retired().size(); ++i) add();
    return duration;
  }

 private:
  void add() {
    ++next_id_;
    NewSequence sequence{.id = SequenceId{next_id_},
                         .request = RequestId{next_id_},
                         .tenant = TenantId{static_cast<std::uint32_t>(next_id_ % kNumTenants)},
                         .prompt = {},
                         .max_new_tokens = num_new_tokens_};
    for (int i = 0; i < kPromptTokens; ++i) {
      sequence.prompt.push_back(TokenId{static_cast<int>((next_id_ + 1) * 31 % 50000) + i});
    }
    std::vector<NewSequence> sequences;
    sequences.push_back(std::move(sequence));
    CHECK(scheduler_.add(std::move(sequences)).has_value());
  }

  int num_new_tokens_;
  std::uint64_t next_id_ = 0;
  SteadyClock clock_;
  Scheduler scheduler_;
  std::vector<StepResult> results_;
};

/// Arguments: waiting requests; output tokens of each: few means many admissions per step.
void BM_Schedule(benchmark::State& state) {
  BusyScheduler scheduler(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (int i = 0; i < 100; ++i) scheduler.step();
  for (auto _ : state) state.SetIterationTime(to_seconds(scheduler.step()));
}
BENCHMARK(BM_Schedule)
    ->ArgNames({"waiting", "output"})
    ->Args({100, 64})
    ->Args({10000, 64})
    ->Args({10000, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace paceline

BENCHMARK_MAIN();
