#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

using ::testing::SizeIs;

// A pool of 1 024 tokens, as the fixture KVSMALL of CASES.md.
SchedulerOptions small_pool() {
  return {.block_size = 16, .num_blocks = 64, .max_context = 1000, .max_queued = 2000};
}

TEST(EngineSoakTest, PoolRunsOutWhileDecodingAndAllStillFinish) {
  EngineHarness harness({.scheduler = small_pool()});
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<std::vector<TokenId>> alone;
  for (int i = 0; i < 8; ++i) {
    const std::string prompt = std::string(200, static_cast<char>('a' + i));
    alone.push_back(harness.run(harness.request(prompt, 400)).choices.at(0).token_ids);
  }

  for (int i = 0; i < 8; ++i) {
    const std::string prompt = std::string(200, static_cast<char>('a' + i));
    clients.push_back(harness.submit(harness.request(prompt, 400)));
  }

  int num_preemptions = 0;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Outcome outcome = clients[i]->finish();
    EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kLength);
    EXPECT_THAT(outcome.choices.at(0).token_ids, SizeIs(400));
    EXPECT_EQ(outcome.choices.at(0).token_ids, alone[i]);
    num_preemptions += outcome.receipt.preemptions;
  }
  EXPECT_GT(num_preemptions, 0);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
  EXPECT_EQ(harness.metric(R"(vllm:num_preemptions_total{model_name="m"})"), num_preemptions);
}

// A request of the soak: what it asks, and after how many deltas it is cancelled.
struct SoakRequest {
  std::string prompt;
  int max_tokens = 0;
  int n = 1;
  bool prompt_logprobs = false;
  int cancel_after = -1;  // -1: never
  std::size_t budget = 1 << 20;
};

SoakRequest random_request(std::mt19937& random, int i) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  SoakRequest out;
  out.prompt = "request " + std::to_string(below(40)) +
               std::string(static_cast<std::size_t>(below(60)), static_cast<char>('a' + i % 26));
  out.max_tokens = below(40);
  out.n = 1 + below(3);
  out.prompt_logprobs = below(10) == 0;
  if (below(2) == 0) out.cancel_after = below(20);
  if (below(4) == 0) out.budget = 2000;
  return out;
}

TEST(EngineSoakTest, RandomCancelsInEveryPhaseLeaveNothingBehind) {
  constexpr std::uint32_t kSeed = 20240607;
  constexpr std::size_t kAtOnce = 24;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  EngineHarness harness({.scheduler = small_pool(), .num_threads = 2});
  std::mt19937 random(kSeed);
  const std::string neighbour_prompt = "a neighbour that nobody disturbs";
  const std::vector<TokenId> undisturbed =
      harness.run(harness.request(neighbour_prompt, 60)).choices.at(0).token_ids;

  std::vector<std::pair<std::unique_ptr<TestClient>, SoakRequest>> live;
  const auto finish_oldest = [&] {
    auto& [client, asked] = live.front();
    if (asked.cancel_after >= 0) {
      client->read_deltas(asked.cancel_after);
      harness.engine().cancel(client->id(), CancelCause::kDisconnect);
    }
    const Outcome outcome = client->finish();
    if (asked.cancel_after < 0) {
      EXPECT_FALSE(outcome.error.has_value()) << outcome.error->message;
      EXPECT_EQ(outcome.usage.completion_tokens, asked.n * asked.max_tokens);
    }
    live.erase(live.begin());
  };
  std::unique_ptr<TestClient> neighbour;
  for (int i = 0; i < 1000; ++i) {
    if (i % 50 == 0) neighbour = harness.submit(harness.request(neighbour_prompt, 60));
    SoakRequest asked = random_request(random, i);
    GenerationRequest request = harness.request(asked.prompt, asked.max_tokens);
    request.sampling.n = asked.n;
    request.prompt_logprobs = asked.prompt_logprobs;
    auto client = harness.submit(std::move(request), asked.budget);
    if (asked.cancel_after == 0) harness.engine().cancel(client->id(), CancelCause::kApi);
    live.emplace_back(std::move(client), std::move(asked));
    if (live.size() >= kAtOnce) finish_oldest();
    if (i % 50 == 49) {
      EXPECT_EQ(neighbour->finish().choices.at(0).token_ids, undisturbed);
    }
  }
  while (!live.empty()) finish_oldest();

  const auto snapshot = harness.snapshot_at_rest();
  EXPECT_TRUE(snapshot->healthy) << snapshot->fault;
  EXPECT_EQ(snapshot->kv_blocks_active, 0);
  EXPECT_EQ(snapshot->kv_blocks_cached + snapshot->kv_blocks_free, 64);
  EXPECT_EQ(snapshot->waiting_tokens, 0);
}

}  // namespace
}  // namespace paceline
