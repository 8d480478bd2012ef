#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/choice_output.h"
#include "engine/output_stream.h"
#include "engine/request.h"
#include "scheduler/sequence.h"

namespace paceline {

/// One choice: one sequence being generated.
struct Choice {
  SequenceId sequence{};
  int index = 0;          ///< prompt index × n + k
  int prompt_index = 0;   ///< which prompt it continues
  bool is_first = false;  ///< k = 0: brings prompt log-probabilities and cached tokens
  bool is_started = false;
  bool is_finished = false;
  bool is_prompt_sent = false;              ///< PromptLogprobs were sent, or none are wanted
  std::optional<ChoiceOutput> output = {};  ///< absent when max_tokens is 0
  std::optional<TimePoint> first_token_at = {};
  std::optional<TimePoint> last_token_at = {};
  /// Log-probabilities of the prompt's tokens that wait for the last one, and how many are known;
  /// rows computed again after preemption are told by their position.
  std::vector<TokenLogprobText> prompt_logprobs = {};
  int num_prompt_logprobs = 0;
};

/// A live request: its choices, what came out and what it cost. Owned by the RequestTable; engine
/// thread.
class RequestState {
 public:
  /// Numbers its sequences from `first_sequence` on.
  RequestState(GenerationRequest request, std::shared_ptr<OutputStream> stream,
               const Tokenizer& tokenizer, SequenceId first_sequence);
  RequestState(const RequestState&) = delete;
  RequestState& operator=(const RequestState&) = delete;

  /// Its sequences for the scheduler, in the order of the choices.
  [[nodiscard]] std::vector<NewSequence> new_sequences() const;
  /// Adds what a sequence that has ended cost.
  void add_cost(const SequenceStats& stats);

  [[nodiscard]] const GenerationRequest& request() const { return request_; }
  [[nodiscard]] OutputStream& stream() { return *stream_; }
  [[nodiscard]] std::vector<Choice>& choices() { return choices_; }
  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }
  [[nodiscard]] Choice& choice_of(SequenceId sequence);
  [[nodiscard]] bool is_finished() const { return num_finished == choices_.size(); }
  [[nodiscard]] RequestPhase phase() const;
  /// Receipt as of `now`; counters of sequences that have not ended are not in it.
  [[nodiscard]] Receipt receipt(TimePoint now) const;

  Usage usage = {};  ///< prompt_tokens are 0 until it has started
  bool is_paused = false;
  std::size_t num_finished = 0;  ///< choices
  std::optional<TimePoint> started_at = {};
  std::optional<TimePoint> first_token_at = {};
  double cpu_seconds = 0;
  double kv_block_seconds = 0;
  int num_preemptions = 0;
  Duration requeued{};  ///< waits after preemption
  /// Set when a step could not give one of its tokens; ends it after the commit.
  std::optional<Error> failure = {};

 private:
  const GenerationRequest request_;
  const std::shared_ptr<OutputStream> stream_;
  std::vector<Choice> choices_;
};

}  // namespace paceline
