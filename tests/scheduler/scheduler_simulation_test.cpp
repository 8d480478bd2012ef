#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_harness.h"

namespace paceline {
namespace {

/// One world to simulate; the harness checks every rule after every call.
struct World {
  const char* name;
  unsigned seed;
  int num_blocks;
  int block_size;
  int max_running;
  int max_step_tokens;
  double target_step_ms;
  bool prefix_cache;
};

void PrintTo(const World& world, std::ostream* out) { *out << world.name; }

class SchedulerSimulationTest : public ::testing::TestWithParam<World> {};

INSTANTIATE_TEST_SUITE_P(Worlds, SchedulerSimulationTest,
                         ::testing::Values(World{"RoomyPool", 1, 400, 4, 16, 64, 1e9, true},
                                           World{"TinyPool", 2, 24, 4, 16, 64, 1e9, true},
                                           World{"TinyPoolWithoutCache", 3, 24, 4, 16, 64, 1e9,
                                                 false},
                                           World{"TinyBatch", 4, 64, 4, 2, 64, 1e9, true},
                                           World{"TinySteps", 5, 40, 8, 8, 9, 1e9, true},
                                           World{"BoundByTime", 6, 60, 4, 12, 64, 6, true},
                                           World{"OneSequence", 7, 16, 4, 1, 32, 1e9, true}),
                         [](const auto& instance) { return std::string(instance.param.name); });

/// Random user: adds, cancels, pauses and resumes sequences.
class RandomUser {
 public:
  static constexpr int kNumRequests = 120;

  RandomUser(SchedulerHarness& harness, unsigned seed) : harness_(harness), random_(seed) {}

  void act() {
    if (pick(3) == 0 && num_added_ < kNumRequests) add();
    if (pick(12) == 0) with_live([&](SequenceId id) { cancel(id); });
    if (pick(8) == 0) with_live([&](SequenceId id) { harness_.scheduler().pause(id); });
    if (pick(4) == 0) with_live([&](SequenceId id) { harness_.scheduler().resume(id); });
  }

  void resume_all() {
    for (const SequenceId id : ids_) harness_.scheduler().resume(id);
  }

  /// Every sequence that was not cancelled has run to its end, with the tokens of a solo run; a
  /// cancelled one has the beginning of them.
  void expect_right_outputs() {
    for (const SequenceId id : ids_) {
      const auto& spec = harness_.spec(id);
      const bool cancelled = std::ranges::count(cancelled_, id) > 0;
      ASSERT_TRUE(harness_.is_finished(id)) << raw(id);
      const auto& output = harness_.output(id);
      if (!cancelled) {
        ASSERT_EQ(static_cast<int>(output.size()), spec.max_new_tokens);
      }
      ASSERT_EQ(output, FakeModel::expected_output(spec.prompt, static_cast<int>(output.size())));
      if (!cancelled && spec.prompt_logprobs) {
        ASSERT_EQ(harness_.num_rows(id),
                  static_cast<int>(spec.prompt.size()) + std::max(0, spec.max_new_tokens - 1));
      }
    }
  }

  [[nodiscard]] int num_added() const { return num_added_; }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void add() {
    const int capacity = harness_.scheduler().max_total_tokens();
    SchedulerHarness::Spec spec;
    spec.prompt = token_run(100 * pick(3), 1 + pick(std::min(capacity / 2, 60)));
    if (pick(2) == 0) spec.prompt = join(spec.prompt, token_run(100 * pick(4), pick(6)));
    const int room = capacity - static_cast<int>(spec.prompt.size());
    spec.max_new_tokens =
        pick(5) == 0 ? std::clamp(room, 0, 100) : pick(std::max(1, std::min(room, 20)));
    spec.tenant = static_cast<unsigned>(pick(4));
    spec.priority = pick(3) - 1;
    spec.prompt_logprobs = pick(10) == 0;
    if (pick(4) == 0 && !ids_.empty()) {
      const SequenceId leader = ids_.back();
      spec.after = leader;
      spec.prompt = harness_.spec(leader).prompt;
      spec.max_new_tokens = harness_.spec(leader).max_new_tokens;
      spec.tenant = harness_.spec(leader).tenant;
    }
    ids_.push_back(harness_.add(spec));
    ++num_added_;
  }

  void cancel(SequenceId id) {
    harness_.cancel(id);
    cancelled_.push_back(id);
  }

  template <typename Action>
  void with_live(Action action) {
    std::vector<SequenceId> live;
    for (const SequenceId id : ids_) {
      if (harness_.scheduler().find(id) != nullptr) live.push_back(id);
    }
    if (!live.empty()) action(live[static_cast<std::size_t>(pick(static_cast<int>(live.size())))]);
  }

  SchedulerHarness& harness_;
  std::mt19937 random_;
  std::vector<SequenceId> ids_;
  std::vector<SequenceId> cancelled_;
  int num_added_ = 0;
};

TEST_P(SchedulerSimulationTest, EveryRuleHoldsAndEveryOutputIsThatOfASoloRun) {
  const World& world = GetParam();
  SCOPED_TRACE("seed " + std::to_string(world.seed));
  SchedulerOptions options = plain_options(world.num_blocks, world.block_size);
  options.max_running = world.max_running;
  options.max_step_tokens = world.max_step_tokens;
  options.target_step_ms = world.target_step_ms;
  options.prefix_cache = world.prefix_cache;
  options.max_gap_tokens = 150;
  options.max_prompt_logprob_rows = 5;
  options.max_logits_rows = 20;
  options.min_chunk_tokens = 2;
  options.max_chunk_tokens = 24;
  SchedulerHarness harness(options);
  const double weights[] = {1, 2, 0.5, 4};
  for (unsigned i = 0; i < 4; ++i) {
    harness.scheduler().set_tenant({.id = TenantId{i}, .weight = weights[i]});
  }
  RandomUser user(harness, world.seed);

  while (user.num_added() < RandomUser::kNumRequests && !HasFailure()) {
    user.act();
    harness.step();
  }
  user.resume_all();
  harness.run();

  user.expect_right_outputs();
  const SchedulerSnapshot snapshot = harness.scheduler().snapshot();
  EXPECT_EQ(snapshot.num_active_blocks, 0);
  EXPECT_EQ(snapshot.num_running + snapshot.num_waiting_requests, 0);
  EXPECT_EQ(snapshot.num_waiting_tokens, 0);
}

}  // namespace
}  // namespace paceline
