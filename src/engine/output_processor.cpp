#include "engine/output_processor.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

// Position of the token whose logits row `row` of a step holds.
int position_of_row(const SequenceStep& step, int row) {
  return step.start_position + step.num_tokens - step.num_logits_rows + row;
}

}  // namespace

OutputProcessor::OutputProcessor(RequestTable& requests, const Scheduler& scheduler,
                                 const Tokenizer& tokenizer, EngineMetrics& metrics,
                                 const Clock& clock, int vocab_size, ThreadPool* team)
    : requests_(requests),
      scheduler_(scheduler),
      tokenizer_(tokenizer),
      metrics_(metrics),
      clock_(clock),
      sampler_(vocab_size, team) {}

void OutputProcessor::sample(const StepPlan& plan, const StepLogits& logits) {
  jobs_.clear();
  for (const SequenceStep& step : plan.sequences) {
    DCHECK(step.num_logits_rows == 0 ||
           static_cast<std::size_t>(step.first_logits_row) == jobs_.size());
    collect_jobs(step);
  }
  CHECK(jobs_.size() == static_cast<std::size_t>(logits.num_rows));
  sampler_.run(jobs_, logits);
}

void OutputProcessor::collect_jobs(const SequenceStep& step) {
  const Sequence* sequence = scheduler_.find(step.sequence);
  RequestState* request = requests_.find(step.sequence);
  CHECK(sequence != nullptr && request != nullptr);
  Choice& choice = request->choice_of(step.sequence);
  for (int row = 0; row < step.num_logits_rows; ++row) {
    RowJob job{.row = step.first_logits_row + row, .params = &request->request().sampling};
    const auto next = static_cast<std::size_t>(position_of_row(step, row)) + 1;
    if (next < sequence->token_ids().size()) {
      job.token = sequence->token_ids()[next];
      job.wants_logprobs = !choice.is_prompt_sent;
    } else if (choice.output) {
      job.output = &*choice.output;
      job.wants_logprobs = job.params->logprobs;
    }
    jobs_.push_back(std::move(job));
  }
}

void OutputProcessor::emit(const StepPlan& plan) {
  results_.clear();
  failed_.clear();
  over_limit_.clear();
  const TimePoint now = clock_.now();
  for (const SequenceStep& step : plan.sequences) {
    RequestState& request = *requests_.find(step.sequence);
    Choice& choice = request.choice_of(step.sequence);
    emit_step(step, request, choice, now);
    if (request.stream().budget().is_over_limit()) over_limit_.push_back(step.sequence);
  }
}

void OutputProcessor::emit_step(const SequenceStep& step, RequestState& request, Choice& choice,
                                TimePoint now) {
  for (int row = 0; row < step.num_logits_rows; ++row) {
    RowJob& job = jobs_[static_cast<std::size_t>(step.first_logits_row + row)];
    if (job.error) {
      if (!request.failure) failed_.push_back(request.request().id);
      request.failure = std::move(job.error);
    }
    if (request.failure) {
      results_.push_back({.sequence = step.sequence, .finished = true});
      return;
    }
    if (job.output != nullptr) {
      results_.push_back(emit_token(request, choice, job, now));
    } else if (job.logprobs && position_of_row(step, row) == choice.num_prompt_logprobs) {
      choice.prompt_logprobs.push_back(to_text(*job.logprobs));
      ++choice.num_prompt_logprobs;
    }
  }
  const int end = step.start_position + step.num_tokens;
  if (!choice.output && end == scheduler_.find(step.sequence)->num_tokens()) {
    finish_choice(request, choice, FinishReason::kLength);
    results_.push_back({.sequence = step.sequence, .finished = true});
  }
}

StepResult OutputProcessor::emit_token(RequestState& request, Choice& choice, RowJob& job,
                                       TimePoint now) {
  send_prompt_logprobs(request, choice);
  std::optional<TokenLogprobText> logprobs;
  if (job.logprobs) logprobs = to_text(*job.logprobs);
  const int before = choice.output->num_tokens();
  const auto reason = choice.output->accept(job.token, std::move(logprobs));
  if (!request.first_token_at) {
    request.first_token_at = now;
    const double ttft = to_seconds(now - request.request().accepted_at);
    metrics_.ttft.observe(ttft);
    metrics_.tenant(request.request().tenant).ttft.observe(ttft);
  }
  if (choice.output->num_tokens() > before) count_token(request, choice, now);
  send_delta(request, choice);
  if (reason) finish_choice(request, choice, *reason);
  return {.sequence = choice.sequence,
          .has_token = true,
          .token = job.token,
          .finished = reason.has_value()};
}

void OutputProcessor::count_token(RequestState& request, Choice& choice, TimePoint now) {
  ++request.usage.completion_tokens;
  metrics_.generation_tokens.add();
  if (!choice.first_token_at) {
    choice.first_token_at = now;
  } else {
    const double gap = to_seconds(now - *choice.last_token_at);
    metrics_.itl.observe(gap);
    metrics_.tenant(request.request().tenant).itl.observe(gap);
  }
  choice.last_token_at = now;
}

void OutputProcessor::send_delta(RequestState& request, Choice& choice) {
  auto delta = choice.output->take_delta();
  if (!delta) return;
  delta->index = choice.index;
  delta->completion_tokens = request.usage.completion_tokens;
  request.stream().push(std::move(*delta));
}

void OutputProcessor::finish_choice(RequestState& request, Choice& choice, FinishReason reason) {
  send_prompt_logprobs(request, choice);
  choice.is_finished = true;
  const int num_tokens = choice.output ? choice.output->num_tokens() : 0;
  if (num_tokens > 1) {
    metrics_.time_per_output_token.observe(
        to_seconds(*choice.last_token_at - *choice.first_token_at) / (num_tokens - 1));
  }
  metrics_
      .choices_finished[reason == FinishReason::kStop ? FinishedReason::kStop
                                                      : FinishedReason::kLength]
      .add();
  request.stream().push(ChoiceFinished{choice.index, reason});
}

void OutputProcessor::send_prompt_logprobs(RequestState& request, Choice& choice) {
  if (choice.is_prompt_sent) return;
  choice.is_prompt_sent = true;
  request.stream().push(
      PromptLogprobs{choice.prompt_index, std::exchange(choice.prompt_logprobs, {})});
}

TokenLogprobText OutputProcessor::to_text(const TokenLogprobs& scored) const {
  const auto text = [this](const ScoredToken& token) {
    return LogprobText{std::string(tokenizer_.token_bytes(token.id)), token.logprob};
  };
  TokenLogprobText out{.chosen = text(scored.chosen)};
  out.top.reserve(scored.top.size());
  for (const ScoredToken& token : scored.top) out.top.push_back(text(token));
  return out;
}

}  // namespace paceline
