#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/request.h"
#include "sampling/logits_processor.h"
#include "sampling/random_stream.h"
#include "tokenizer/incremental_detokenizer.h"
#include "tokenizer/stop_matcher.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// From the tokens of one choice to what its reader sees: decides when the choice ends and holds
/// text back until it is certain. Token ids and log-probabilities travel with the first text they
/// made. Owned by its request; engine thread, except that the const functions used for sampling may
/// be called by the compute team between two accept().
class ChoiceOutput {
 public:
  /// `tokenizer` and `params` must outlive this. `max_tokens`: cap of counted tokens, >= 1.
  ChoiceOutput(const SamplingParams& params, const Tokenizer& tokenizer,
               std::span<const TokenId> prompt, const RandomStream& random, int max_tokens);

  [[nodiscard]] const LogitsProcessor& processor() const { return processor_; }
  /// Random number of the next token.
  [[nodiscard]] double uniform() const;

  /// Takes the next token, with its log-probabilities if the request wants them; returns why the
  /// choice ends, if it does. Order of checks: end token or stop id, stop text, cap.
  std::optional<FinishReason> accept(TokenId token, std::optional<TokenLogprobText> logprobs);
  /// Moves out what may be shown now; nothing when all of it is held back. `index` and
  /// `completion_tokens` of the delta are left to the caller.
  [[nodiscard]] std::optional<ChoiceDelta> take_delta();

  /// Tokens counted so far (API.md §3.3).
  [[nodiscard]] int num_tokens() const { return num_tokens_; }

 private:
  struct Item {
    TokenId token;
    std::optional<TokenLogprobText> logprobs;
    std::size_t text_start;  // bytes of text before it
  };

  [[nodiscard]] bool ends_choice(TokenId token) const;
  void add_text(std::string_view text);
  void finish_text();

  const SamplingParams& params_;
  const std::span<const TokenId> end_ids_;
  const int max_tokens_;
  const RandomStream random_;
  LogitsProcessor processor_;
  IncrementalDetokenizer detokenizer_;
  StopMatcher stop_matcher_;
  int num_tokens_ = 0;
  bool is_finished_ = false;
  std::size_t num_text_bytes_ = 0;   // of all tokens, held-back text included
  std::size_t num_shown_bytes_ = 0;  // moved out or waiting in shown_
  std::string shown_;
  std::deque<Item> items_;
};

}  // namespace paceline
