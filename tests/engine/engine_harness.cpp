#include "tests/engine/engine_harness.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "metrics/exposition.h"
#include "scheduler/scheduler.h"
#include "tests/metrics/exposition_parser.h"
#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

constexpr std::chrono::seconds kHangGuard{30};

std::shared_ptr<const Tokenizer> make_tokenizer() {
  auto made = make_bpe_tokenizer(tiny_vocabulary());
  CHECK(made.has_value());
  return std::move(*made);
}

SchedulerOptions with_defaults(SchedulerOptions options) {
  if (options.num_blocks == 0) options.num_blocks = 256;
  if (options.max_context == 0) options.max_context = 4096;
  return options;
}

}  // namespace

TestClient::TestClient(Engine& engine, RequestId id, std::shared_ptr<OutputBudget> budget)
    : engine_(engine), id_(id), budget_(std::move(budget)) {}

bool TestClient::submit(GenerationRequest request) {
  request.id = id_;
  auto stream = engine_.submit(std::move(request), budget_, [signal = signal_] {
    const std::lock_guard lock(signal->mutex);
    signal->is_set = true;
    signal->woken.notify_all();
  });
  if (!stream) {
    refusal_ = stream.error();
    return false;
  }
  stream_ = *stream;
  return true;
}

GenerationEvent TestClient::next() {
  if (peeked_) return *std::exchange(peeked_, std::nullopt);
  const auto deadline = std::chrono::steady_clock::now() + kHangGuard;
  while (true) {
    const bool was_below_half = budget_->is_below_half();
    if (auto event = stream_->try_pop()) {
      if (!was_below_half && budget_->is_below_half()) engine_.resume(id_);
      note(*event);
      return std::move(*event);
    }
    std::unique_lock lock(signal_->mutex);
    CHECK(signal_->woken.wait_until(lock, deadline, [&] { return signal_->is_set; }));
    signal_->is_set = false;
  }
}

Outcome TestClient::finish() {
  while (!is_over_) static_cast<void>(next());
  return outcome_;
}

void TestClient::read_deltas(int count) {
  while (!is_over_ && num_deltas_ < count) static_cast<void>(next());
}

bool TestClient::has_event() {
  if (!peeked_) {
    peeked_ = stream_->try_pop();
    if (peeked_) note(*peeked_);
  }
  return peeked_.has_value();
}

void TestClient::note(const GenerationEvent& event) {
  CHECK(!is_over_);
  if (std::holds_alternative<RequestStarted>(event)) {
    outcome_.started = true;
  } else if (const auto* prompt = std::get_if<PromptLogprobs>(&event)) {
    outcome_.prompt_logprobs[prompt->prompt_index] = prompt->tokens;
  } else if (const auto* delta = std::get_if<ChoiceDelta>(&event)) {
    auto& choice = outcome_.choices[delta->index];
    CHECK(!choice.reason && !(delta->text.empty() && delta->token_ids.empty()));
    choice.text += delta->text;
    choice.deltas.push_back(delta->text);
    choice.token_ids.insert(choice.token_ids.end(), delta->token_ids.begin(),
                            delta->token_ids.end());
    choice.logprobs.insert(choice.logprobs.end(), delta->logprobs.begin(), delta->logprobs.end());
    ++num_deltas_;
  } else if (const auto* finished = std::get_if<ChoiceFinished>(&event)) {
    CHECK(!outcome_.choices[finished->index].reason);
    outcome_.choices[finished->index].reason = finished->reason;
  } else if (const auto* ended = std::get_if<RequestFinished>(&event)) {
    outcome_.usage = ended->usage;
    outcome_.receipt = ended->receipt;
    is_over_ = true;
  } else if (const auto* failed = std::get_if<RequestFailed>(&event)) {
    outcome_.usage = failed->usage;
    outcome_.receipt = failed->receipt;
    outcome_.error = failed->error;
    is_over_ = true;
  }
}

EngineHarness::EngineHarness() : EngineHarness(Options{}) {}

EngineHarness::EngineHarness(Options options)
    : clock_(options.clock == nullptr ? steady_ : *options.clock),
      tokenizer_(make_tokenizer()),
      metrics_(registry_, clock_, {.model_name = "m"}),
      team_(options.num_threads) {
  const SchedulerOptions scheduler = with_defaults(options.scheduler);
  auto runner = std::make_unique<ScriptedModelRunner>(
      ScriptedModelRunner::Options{.vocab_size = tokenizer_->vocab_size(),
                                   .block_size = scheduler.block_size,
                                   .num_blocks = scheduler.num_blocks,
                                   .end_token = kEndToken});
  runner_ = runner.get();
  EngineOptions engine = options.engine;
  engine.max_context = scheduler.max_context;
  engine.block_size = scheduler.block_size;
  engine.vocab_size = tokenizer_->vocab_size();
  engine_ = std::make_unique<Engine>(engine, std::make_unique<Scheduler>(scheduler, clock_),
                                     std::move(runner), tokenizer_, metrics_, clock_, &team_);
  engine_->start();
}

EngineHarness::~EngineHarness() { runner_->release(); }

std::vector<TokenId> EngineHarness::encode(std::string_view text) const {
  return tokenizer_->encode(text, SpecialText::kPlain);
}

GenerationRequest EngineHarness::request(std::string_view prompt, int max_tokens) const {
  GenerationRequest out;
  out.prompts = {encode(prompt)};
  out.sampling.temperature = 0;
  out.max_tokens = max_tokens;
  out.accepted_at = clock_.now();
  return out;
}

void EngineHarness::script(std::string_view prompt, std::string_view output) {
  runner_->script(encode(prompt), encode(output));
}

std::unique_ptr<TestClient> EngineHarness::submit(GenerationRequest request,
                                                  std::size_t budget_bytes) {
  auto client = std::make_unique<TestClient>(*engine_, engine_->next_request_id(),
                                             std::make_shared<OutputBudget>(budget_bytes));
  static_cast<void>(client->submit(std::move(request)));
  return client;
}

std::unique_ptr<TestClient> EngineHarness::submit_and_hold(GenerationRequest request,
                                                           int num_steps) {
  runner_->hold();
  auto client = submit(std::move(request));
  CHECK(runner_->wait_until_held());
  for (int i = 1; i < num_steps; ++i) {
    runner_->step();
    CHECK(runner_->wait_until_held());
  }
  return client;
}

Outcome EngineHarness::run(GenerationRequest request) {
  return submit(std::move(request))->finish();
}

std::shared_ptr<const EngineSnapshot> EngineHarness::snapshot_at_rest() {
  const auto deadline = std::chrono::steady_clock::now() + kHangGuard;
  while (true) {
    auto snapshot = engine_->snapshot();
    if (!snapshot->has_work && snapshot->num_running == 0 && snapshot->num_waiting == 0) {
      return snapshot;
    }
    CHECK(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
}

double EngineHarness::metric(std::string_view series) const {
  return parse_exposition(exposition(registry_)).value(series);
}

}  // namespace paceline
