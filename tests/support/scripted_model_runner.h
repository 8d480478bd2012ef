#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/ids.h"
#include "engine/model_runner.h"

namespace paceline {

/// A ModelRunner without a model: the logits of a position are a function of the tokens before it.
/// Tokens are kept in the blocks of the plan, as K/V would be, so a wrong block table, copy or
/// prefix hit changes what comes out. Unless told otherwise the next token is a letter chosen by a
/// hash of all tokens before it. Set up by the test, run by the engine thread; any thread.
class ScriptedModelRunner final : public ModelRunner {
 public:
  struct Options {
    int vocab_size = 0;
    int block_size = 16;
    int num_blocks = 0;
    TokenId end_token{};       ///< follows a scripted output
    int num_padding_rows = 5;  ///< entries above vocab_size; they hold the largest logits of all
  };
  using LogitsFunction = std::function<void(std::span<const TokenId> tokens, std::span<float> row)>;

  explicit ScriptedModelRunner(Options options);

  /// After exactly this prompt `output` is generated, then the end token.
  void script(std::vector<TokenId> prompt, std::vector<TokenId> output);
  /// Replaces script and hash: fills a zeroed row of vocab_size entries for the token after
  /// `tokens`.
  void set_logits(LogitsFunction fill);

  /// The next steps fail, one after the other, with an Error or by an exception.
  enum class Failure { kError, kException, kWrongRowCount };
  void fail_next(Failure failure);

  /// Every run() stops at its beginning until step() or release().
  void hold();
  /// Waits until a run() has stopped; ends the test's wait after 30 s.
  [[nodiscard]] bool wait_until_held();
  /// Lets the held run() go on; the next one stops again.
  void step();
  /// Ends hold().
  void release();

  /// Plans run so far, held and failed ones included.
  [[nodiscard]] std::vector<StepPlan> plans() const;

  [[nodiscard]] Result<StepLogits> run(const StepPlan& plan) override;

 private:
  void wait_while_held(std::unique_lock<std::mutex>& lock);
  void store(const StepPlan& plan);
  [[nodiscard]] std::vector<TokenId> load(const StepPlan& plan, const SequenceStep& step,
                                          std::size_t num_tokens) const;
  void fill_row(std::span<const TokenId> tokens, std::span<float> row) const;
  [[nodiscard]] TokenId next_token(std::span<const TokenId> tokens) const;

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<TokenId>, std::vector<TokenId>> outputs_;
  LogitsFunction fill_;
  std::deque<Failure> failures_;
  bool holds_ = false;
  bool is_held_ = false;
  std::vector<StepPlan> plans_;
  std::vector<TokenId> slots_;  // [num_blocks][block_size]
  std::vector<float> logits_;   // [rows][vocab_size + num_padding_rows]
};

}  // namespace paceline
