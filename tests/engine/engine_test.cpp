#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/engine_harness.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(EngineTest, ScriptedAnswerArrivesTokenByToken) {
  EngineHarness harness;
  harness.script("Hi", "Hello you");

  const Outcome outcome = harness.run(harness.request("Hi", 100));

  EXPECT_FALSE(outcome.error.has_value());
  EXPECT_TRUE(outcome.started);
  ASSERT_THAT(outcome.choices, SizeIs(1));
  EXPECT_EQ(outcome.choices.at(0).text, "Hello you");
  EXPECT_THAT(outcome.choices.at(0).deltas, ElementsAre("Hello", " ", "y", "o", "u"));
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kStop);
  EXPECT_EQ(outcome.usage.prompt_tokens, 2);
  EXPECT_EQ(outcome.usage.completion_tokens, 5) << "the end token is not counted";
}

TEST(EngineTest, EventsComeInTheirOrder) {
  EngineHarness harness;
  harness.script("Hi", "a");

  const auto client = harness.submit(harness.request("Hi", 100));

  EXPECT_TRUE(std::holds_alternative<RequestStarted>(client->next()));
  EXPECT_TRUE(std::holds_alternative<ChoiceDelta>(client->next()));
  EXPECT_TRUE(std::holds_alternative<ChoiceFinished>(client->next()));
  EXPECT_TRUE(std::holds_alternative<RequestFinished>(client->next()));
}

TEST(EngineTest, CapEndsWithLength) {
  EngineHarness harness;
  harness.script("Hi", "abcdefgh");

  const Outcome outcome = harness.run(harness.request("Hi", 3));

  EXPECT_EQ(outcome.choices.at(0).text, "abc");
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(outcome.usage.completion_tokens, 3);
}

TEST(EngineTest, NothingIsGeneratedForZeroTokens) {
  EngineHarness harness;

  const Outcome outcome = harness.run(harness.request("a prompt of some length, over blocks", 0));

  EXPECT_FALSE(outcome.error.has_value());
  EXPECT_TRUE(outcome.choices.at(0).token_ids.empty());
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kLength);
  EXPECT_EQ(outcome.usage.prompt_tokens, 36);
  EXPECT_EQ(outcome.usage.completion_tokens, 0);
  EXPECT_EQ(harness.snapshot_at_rest()->kv_blocks_active, 0);
}

TEST(EngineTest, SeveralPromptsAndChoicesAreNumberedPromptMajor) {
  EngineHarness harness;
  harness.script("A", "first");
  harness.script("B", "second");
  GenerationRequest request = harness.request("A", 100);
  request.prompts.push_back(harness.encode("B"));
  request.sampling.n = 2;

  const Outcome outcome = harness.run(std::move(request));

  ASSERT_THAT(outcome.choices, SizeIs(4));
  EXPECT_EQ(outcome.choices.at(0).text, "first");
  EXPECT_EQ(outcome.choices.at(1).text, "first");
  EXPECT_EQ(outcome.choices.at(2).text, "second");
  EXPECT_EQ(outcome.choices.at(3).text, "second");
  EXPECT_EQ(outcome.usage.prompt_tokens, 2) << "each prompt once";
  EXPECT_EQ(outcome.usage.completion_tokens, 22);
}

TEST(EngineTest, ChoicesOfOnePromptShareItsBlocks) {
  EngineHarness harness;
  const std::string prompt(64, 'p');  // four blocks
  GenerationRequest request = harness.request(prompt, 4);
  request.sampling.n = 3;

  const Outcome outcome = harness.run(std::move(request));

  EXPECT_EQ(outcome.usage.cached_tokens, 0) << "sharing between choices is no cache hit";
  int num_computed = 0;
  for (const StepPlan& plan : harness.runner().plans()) num_computed += plan.num_prefill_tokens;
  EXPECT_LT(num_computed, 2 * 64);
}

TEST(EngineTest, SecondRequestReportsItsCachedTokens) {
  EngineHarness harness;
  const std::string prompt(40, 'p');

  const Outcome first = harness.run(harness.request(prompt, 4));
  const Outcome second = harness.run(harness.request(prompt, 4));

  EXPECT_EQ(first.usage.cached_tokens, 0);
  EXPECT_GE(second.usage.cached_tokens, 32);
  EXPECT_EQ(second.receipt.cached_tokens, second.usage.cached_tokens);
  EXPECT_EQ(second.choices.at(0).token_ids, first.choices.at(0).token_ids);
}

TEST(EngineTest, PromptLogprobsCoverAllTokensButTheFirst) {
  EngineHarness harness;
  harness.runner().set_logits([](std::span<const TokenId> tokens, std::span<float> row) {
    row[index_of(tokens.back()) + 1] = 5;  // the byte after the last one
  });
  GenerationRequest request = harness.request(std::string("abcdx") + std::string(60, 'y'), 1);
  request.prompt_logprobs = true;
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 1;

  const Outcome outcome = harness.run(std::move(request));

  const auto& tokens = outcome.prompt_logprobs.at(0);
  ASSERT_THAT(tokens, SizeIs(64));
  EXPECT_EQ(tokens[0].chosen.bytes, "b");
  EXPECT_GT(tokens[0].chosen.logprob, -2.0F);
  EXPECT_EQ(tokens[3].chosen.bytes, "x");
  EXPECT_LT(tokens[3].chosen.logprob, -5.0F);
  EXPECT_EQ(tokens[3].top.at(0).bytes, "e");
  EXPECT_EQ(outcome.choices.at(0).text, "z");
}

TEST(EngineTest, PromptLogprobsComeWithoutGeneratingToo) {
  EngineHarness harness;
  GenerationRequest request = harness.request("abc", 0);
  request.prompt_logprobs = true;

  const Outcome outcome = harness.run(std::move(request));

  EXPECT_THAT(outcome.prompt_logprobs.at(0), SizeIs(2));
  EXPECT_EQ(outcome.choices.at(0).reason, FinishReason::kLength);
}

TEST(EngineTest, OneTokenPromptHasNoPromptLogprobs) {
  EngineHarness harness;
  GenerationRequest request = harness.request("a", 1);
  request.prompt_logprobs = true;

  EXPECT_THAT(harness.run(std::move(request)).prompt_logprobs.at(0), IsEmpty());
}

TEST(EngineTest, CompletionTokensOfDeltasRunOverAllChoices) {
  EngineHarness harness;
  GenerationRequest request = harness.request("Hi", 4);
  request.sampling.n = 2;

  const auto client = harness.submit(std::move(request));

  int last = 0;
  while (true) {
    const GenerationEvent event = client->next();
    if (std::holds_alternative<RequestFinished>(event)) break;
    if (const auto* delta = std::get_if<ChoiceDelta>(&event)) {
      EXPECT_EQ(delta->completion_tokens, last + 1);
      last = delta->completion_tokens;
    }
  }
  EXPECT_EQ(last, 8);
}

TEST(EngineTest, ResultsDoNotDependOnTheNumberOfThreads) {
  const auto run = [](int num_threads) {
    EngineHarness harness({.num_threads = num_threads});
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 8; ++i) {
      GenerationRequest request = harness.request("prompt " + std::to_string(i), 20);
      request.sampling = {.temperature = 1.5, .seed = i, .logprobs = true, .top_logprobs = 3};
      clients.push_back(harness.submit(std::move(request)));
    }
    std::vector<std::vector<TokenId>> ids;
    for (auto& client : clients) ids.push_back(client->finish().choices.at(0).token_ids);
    return ids;
  };

  EXPECT_EQ(run(1), run(3));
}

TEST(EngineTest, ReceiptAddsUp) {
  EngineHarness harness;

  const Outcome outcome = harness.run(harness.request(std::string(50, 'p'), 20));

  const Receipt& receipt = outcome.receipt;
  EXPECT_NEAR(receipt.queue_ms + receipt.prefill_ms + receipt.decode_ms, receipt.total_ms, 1e-6);
  EXPECT_GT(receipt.cpu_ms, 0);
  EXPECT_GT(receipt.kv_block_seconds, 0);
  EXPECT_EQ(receipt.preemptions, 0);
}

TEST(EngineTest, RequestsThatCannotBeAreRefusedAtOnce) {
  EngineHarness harness;
  GenerationRequest none = harness.request("a", 1);
  none.prompts.clear();
  GenerationRequest empty = harness.request("a", 1);
  empty.prompts.emplace_back();
  GenerationRequest undefined = harness.request("a", 1);
  undefined.prompts[0].push_back(static_cast<TokenId>(harness.tokenizer().vocab_size()));
  GenerationRequest many = harness.request("a", 1);
  many.prompts.resize(2, many.prompts[0]);
  many.sampling.n = 65;

  for (GenerationRequest* request : {&none, &empty, &undefined, &many}) {
    const auto client = harness.submit(std::move(*request));
    ASSERT_TRUE(client->refusal().has_value());
    EXPECT_EQ(client->refusal()->code, ErrorCode::kInvalidValue);
  }
}

TEST(EngineTest, RefusalOfTheSchedulerIsTheOnlyEvent) {
  EngineHarness harness({.scheduler = {.num_blocks = 8, .max_context = 1000}});

  const Outcome too_long = harness.run(harness.request(std::string(1000, 'x'), 10));
  const Outcome too_big = harness.run(harness.request(std::string(200, 'x'), 10));

  ASSERT_TRUE(too_long.error.has_value());
  EXPECT_EQ(too_long.error->code, ErrorCode::kContextLengthExceeded);
  EXPECT_FALSE(too_long.started);
  ASSERT_TRUE(too_big.error.has_value());
  EXPECT_EQ(too_big.error->code, ErrorCode::kKvCapacityExceeded);
}

TEST(EngineTest, FullQueueRefusesAndKeepsWhatItHas) {
  EngineHarness harness({.scheduler = {.max_running = 1, .max_queued = 2}});
  const auto running = harness.submit_and_hold(harness.request("first", 2), 1);

  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(harness.submit(harness.request("next", 2)));
  harness.runner().release();

  EXPECT_FALSE(running->finish().error.has_value());
  EXPECT_FALSE(clients[0]->finish().error.has_value());
  EXPECT_FALSE(clients[1]->finish().error.has_value());
  const Outcome refused = clients[3]->finish();
  ASSERT_TRUE(refused.error.has_value());
  EXPECT_EQ(refused.error->code, ErrorCode::kServerOverloaded);
}

TEST(EngineTest, SnapshotListsWhatWaitsInOrder) {
  EngineHarness harness({.scheduler = {.max_running = 1},
                         .engine = {.snapshot_interval = std::chrono::milliseconds(0)}});
  const auto running = harness.submit_and_hold(harness.request("first", 3), 1);
  EXPECT_TRUE(harness.engine().snapshot()->has_work);

  const auto second = harness.submit(harness.request("second", 2));
  const auto third = harness.submit(harness.request("third", 2));
  for (int i = 0; i < 2; ++i) {
    harness.runner().step();
    ASSERT_TRUE(harness.runner().wait_until_held());
  }

  const auto snapshot = harness.engine().snapshot();
  ASSERT_THAT(snapshot->waiting, SizeIs(2));
  EXPECT_EQ(snapshot->waiting[0].request, second->id());
  EXPECT_EQ(snapshot->waiting[0].position, 1);
  EXPECT_EQ(snapshot->waiting[1].request, third->id());
  EXPECT_EQ(snapshot->waiting[1].position, 2);
  EXPECT_EQ(snapshot->num_running, 1);
  EXPECT_EQ(snapshot->num_waiting, 2);
  harness.runner().release();
  EXPECT_FALSE(third->finish().error.has_value());
}

}  // namespace
}  // namespace paceline
