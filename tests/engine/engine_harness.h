#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "metrics/engine_metrics.h"
#include "metrics/registry.h"
#include "scheduler/scheduler_options.h"
#include "tests/support/scripted_model_runner.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// Everything a request sent, put together.
struct Outcome {
  struct ChoiceOutcome {
    std::string text;
    std::vector<std::string> deltas;  ///< texts as they came
    std::vector<TokenId> token_ids;
    std::vector<TokenLogprobText> logprobs;
    std::optional<FinishReason> reason;
  };
  bool started = false;
  std::map<int, ChoiceOutcome> choices;
  std::map<int, std::vector<TokenLogprobText>> prompt_logprobs;
  std::optional<Error> error;  ///< absent: RequestFinished came
  Usage usage;
  Receipt receipt;
};

/// Reads one request's stream as a connection would.
class TestClient {
 public:
  TestClient(Engine& engine, RequestId id, std::shared_ptr<OutputBudget> budget);

  /// Hands the request over; false when it was refused at once.
  [[nodiscard]] bool submit(GenerationRequest request);
  /// Waits for the next event; ends the process after 30 s, which only a hang can need.
  [[nodiscard]] GenerationEvent next();
  /// Reads to the last event. Events already read by next() are in it.
  [[nodiscard]] Outcome finish();
  /// Reads until `count` deltas have come or the request has ended.
  void read_deltas(int count);
  [[nodiscard]] bool has_event();

  [[nodiscard]] RequestId id() const { return id_; }
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  [[nodiscard]] OutputStream& stream() { return *stream_; }

 private:
  struct Signal {
    std::mutex mutex;
    std::condition_variable woken;
    bool is_set = false;
  };

  void note(const GenerationEvent& event);

  Engine& engine_;
  const RequestId id_;
  const std::shared_ptr<OutputBudget> budget_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::shared_ptr<OutputStream> stream_;
  std::optional<Error> refusal_;
  std::optional<GenerationEvent> peeked_;
  Outcome outcome_;
  int num_deltas_ = 0;
  bool is_over_ = false;
};

/// An engine over the scripted runner and a tiny vocabulary.
class EngineHarness {
 public:
  struct Options {
    SchedulerOptions scheduler = {};
    EngineOptions engine = {};
    int num_threads = 1;
    const Clock* clock = nullptr;  ///< null: the steady one
  };

  EngineHarness();
  explicit EngineHarness(Options options);
  /// Releases the runner and stops the engine.
  ~EngineHarness();

  /// Encodes plain text; every byte that is no part of `Hello`, ` He` or `你` is one token.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;
  /// A greedy request for up to `max_tokens` after a prompt.
  [[nodiscard]] GenerationRequest request(std::string_view prompt, int max_tokens) const;
  /// Scripts what follows a prompt.
  void script(std::string_view prompt, std::string_view output);
  [[nodiscard]] std::unique_ptr<TestClient> submit(GenerationRequest request,
                                                   std::size_t budget_bytes = 1 << 20);
  /// Submits and holds the engine before its `num_steps`-th step from now on.
  [[nodiscard]] std::unique_ptr<TestClient> submit_and_hold(GenerationRequest request,
                                                            int num_steps);
  /// Submits and reads to the end.
  [[nodiscard]] Outcome run(GenerationRequest request);
  /// Waits until the engine has nothing to do and has said so; its snapshot.
  [[nodiscard]] std::shared_ptr<const EngineSnapshot> snapshot_at_rest();
  [[nodiscard]] double metric(std::string_view series) const;

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] ScriptedModelRunner& runner() { return *runner_; }
  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] TimePoint now() const { return clock_.now(); }

 private:
  SteadyClock steady_;
  const Clock& clock_;
  MetricsRegistry registry_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  EngineMetrics metrics_;
  ThreadPool team_;
  ScriptedModelRunner* runner_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

inline constexpr TokenId kEndToken{265};       // <|im_end|>
inline constexpr TokenId kOtherEndToken{263};  // <|endoftext|>

}  // namespace paceline
