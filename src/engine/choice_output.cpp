#include "engine/choice_output.h"

#include <algorithm>
#include <utility>

namespace paceline {

ChoiceOutput::ChoiceOutput(const SamplingParams& params, const Tokenizer& tokenizer,
                           std::span<const TokenId> prompt, const RandomStream& random,
                           int max_tokens)
    : params_(params),
      end_ids_(tokenizer.end_ids()),
      max_tokens_(max_tokens),
      random_(random),
      processor_(params, prompt, tokenizer.end_ids()),
      detokenizer_(tokenizer, true),
      stop_matcher_(params.stop) {}

double ChoiceOutput::uniform() const {
  return random_.uniform(static_cast<std::uint64_t>(num_tokens_));
}

std::optional<FinishReason> ChoiceOutput::accept(TokenId token,
                                                 std::optional<TokenLogprobText> logprobs) {
  if (ends_choice(token)) {
    finish_text();
    return FinishReason::kStop;
  }
  items_.push_back({token, std::move(logprobs), num_text_bytes_});
  ++num_tokens_;
  processor_.accept(token);
  add_text(detokenizer_.append(token));
  if (!stop_matcher_.matched() && num_tokens_ >= max_tokens_) {
    finish_text();
    if (!stop_matcher_.matched()) return FinishReason::kLength;
  }
  if (!stop_matcher_.matched()) return std::nullopt;
  is_finished_ = true;
  return FinishReason::kStop;
}

std::optional<ChoiceDelta> ChoiceOutput::take_delta() {
  ChoiceDelta delta;
  delta.text = std::exchange(shown_, {});
  while (!items_.empty() && (is_finished_ || items_.front().text_start < num_shown_bytes_)) {
    Item& item = items_.front();
    delta.token_ids.push_back(item.token);
    if (item.logprobs) delta.logprobs.push_back(std::move(*item.logprobs));
    items_.pop_front();
  }
  if (delta.text.empty() && delta.token_ids.empty()) return std::nullopt;
  return delta;
}

bool ChoiceOutput::ends_choice(TokenId token) const {
  const bool is_end = !params_.ignore_eos && std::ranges::binary_search(end_ids_, token);
  return is_end || std::ranges::find(params_.stop_token_ids, token) != params_.stop_token_ids.end();
}

void ChoiceOutput::add_text(std::string_view text) {
  num_text_bytes_ += text.size();
  // Stop strings are not looked for before min_tokens, so that text is certain at once.
  const bool may_stop = !params_.stop.empty() && num_tokens_ >= params_.min_tokens;
  std::string shown = may_stop ? stop_matcher_.append(text) : std::string(text);
  num_shown_bytes_ += shown.size();
  shown_ += shown;
}

void ChoiceOutput::finish_text() {
  is_finished_ = true;
  add_text(detokenizer_.flush());
  const std::string rest = stop_matcher_.flush();
  num_shown_bytes_ += rest.size();
  shown_ += rest;
}

}  // namespace paceline
