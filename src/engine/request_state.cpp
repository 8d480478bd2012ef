#include "engine/request_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sampling/random_stream.h"

namespace paceline {
namespace {

/// Tokens that a choice after prompt number `prompt` may have.
int output_cap(const GenerationRequest& request, int prompt) {
  if (!request.max_sequence_tokens) return request.max_tokens;
  const std::size_t prompt_size = request.prompts[static_cast<std::size_t>(prompt)].size();
  const int room = *request.max_sequence_tokens - static_cast<int>(prompt_size);
  // Without room the scheduler refuses the sequence and says why.
  return room < 1 ? request.max_tokens : std::min(request.max_tokens, room);
}

}  // namespace

RequestState::RequestState(GenerationRequest request, std::shared_ptr<OutputStream> stream,
                           const Tokenizer& tokenizer, SequenceId first_sequence)
    : request_(std::move(request)), stream_(std::move(stream)) {
  const SamplingParams& sampling = request_.sampling;
  const std::int64_t seed = sampling.seed ? *sampling.seed : random_seed();
  const int num_prompts = static_cast<int>(request_.prompts.size());
  choices_.reserve(request_.prompts.size() * static_cast<std::size_t>(sampling.n));
  for (int prompt = 0; prompt < num_prompts; ++prompt) {
    for (int k = 0; k < sampling.n; ++k) {
      const int index = prompt * sampling.n + k;
      Choice choice{.sequence = SequenceId{raw(first_sequence) + static_cast<std::uint64_t>(index)},
                    .index = index,
                    .prompt_index = prompt,
                    .is_first = k == 0,
                    .is_prompt_sent = k > 0 || !request_.prompt_logprobs};
      if (request_.max_tokens > 0) {
        choice.output.emplace(sampling, tokenizer,
                              request_.prompts[static_cast<std::size_t>(prompt)],
                              RandomStream(seed, index), output_cap(request_, prompt));
      }
      choices_.push_back(std::move(choice));
    }
  }
}

std::vector<NewSequence> RequestState::new_sequences() const {
  std::vector<NewSequence> sequences;
  sequences.reserve(choices_.size());
  for (const Choice& choice : choices_) {
    NewSequence sequence{
        .id = choice.sequence,
        .request = request_.id,
        .tenant = request_.tenant,
        .prompt = request_.prompts[static_cast<std::size_t>(choice.prompt_index)],
        .max_new_tokens = output_cap(request_, choice.prompt_index),
        .priority = request_.priority,
        .prompt_logprobs = request_.prompt_logprobs && choice.is_first,
        .cache_salt = request_.cache_salt,
    };
    if (!choice.is_first) {
      const int first = choice.prompt_index * request_.sampling.n;
      sequence.after = choices_[static_cast<std::size_t>(first)].sequence;
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

void RequestState::add_cost(const SequenceStats& stats) {
  kv_block_seconds += stats.kv_block_seconds;
  num_preemptions += stats.num_preemptions;
  requeued += stats.requeued;
}

Choice& RequestState::choice_of(SequenceId sequence) {
  const auto offset = static_cast<std::size_t>(raw(sequence) - raw(choices_.front().sequence));
  DCHECK(offset < choices_.size());
  return choices_[offset];
}

RequestPhase RequestState::phase() const {
  if (is_finished()) return RequestPhase::kDone;
  if (is_paused) return RequestPhase::kPaused;
  if (!started_at) return RequestPhase::kQueued;
  return first_token_at ? RequestPhase::kDecode : RequestPhase::kPrefill;
}

Receipt RequestState::receipt(TimePoint now) const {
  const TimePoint started = started_at.value_or(now);
  const TimePoint first_token = first_token_at.value_or(now);
  return {
      .queue_ms = to_ms(started - request_.accepted_at + requeued),
      .prefill_ms = to_ms(first_token - started),
      .decode_ms = to_ms(now - first_token),
      .total_ms = to_ms(now - request_.accepted_at),
      .cpu_ms = cpu_seconds * 1e3,
      .kv_block_seconds = kv_block_seconds,
      .cached_tokens = usage.cached_tokens,
      .preemptions = num_preemptions,
  };
}

}  // namespace paceline
