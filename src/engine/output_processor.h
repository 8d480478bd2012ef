#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "engine/model_runner.h"
#include "engine/request_table.h"
#include "engine/row_sampler.h"
#include "metrics/engine_metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler/step_plan.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// From the rows of a step to events and results: samples, detokenises, finds the end of choices,
/// sends deltas. Changes neither scheduler nor request table, so it can run between schedule() and
/// commit(). Owned by the engine loop; engine thread.
class OutputProcessor {
 public:
  OutputProcessor(RequestTable& requests, const Scheduler& scheduler, const Tokenizer& tokenizer,
                  EngineMetrics& metrics, const Clock& clock, int vocab_size, ThreadPool* team);

  /// First half: samples and scores every row the plan asked for.
  void sample(const StepPlan& plan, const StepLogits& logits);
  /// Second half: sends what came of it. A row that could not be sampled leaves its request's
  /// `failure` set.
  void emit(const StepPlan& plan);

  // What the last emit() found.

  /// Results for commit().
  [[nodiscard]] std::span<const StepResult> results() const { return results_; }
  /// Requests whose `failure` this step set.
  [[nodiscard]] std::span<const RequestId> failed() const { return failed_; }
  /// Sequences of the step whose request's budget is over its limit.
  [[nodiscard]] std::span<const SequenceId> over_limit() const { return over_limit_; }

 private:
  void collect_jobs(const SequenceStep& step);
  void emit_step(const SequenceStep& step, RequestState& request, Choice& choice, TimePoint now);
  StepResult emit_token(RequestState& request, Choice& choice, RowJob& job, TimePoint now);
  void count_token(RequestState& request, Choice& choice, TimePoint now);
  void send_delta(RequestState& request, Choice& choice);
  void finish_choice(RequestState& request, Choice& choice, FinishReason reason);
  void send_prompt_logprobs(RequestState& request, Choice& choice);
  [[nodiscard]] TokenLogprobText to_text(const TokenLogprobs& scored) const;

  RequestTable& requests_;
  const Scheduler& scheduler_;
  const Tokenizer& tokenizer_;
  EngineMetrics& metrics_;
  const Clock& clock_;
  RowSampler sampler_;
  std::vector<RowJob> jobs_;  // one per row of logits, in plan order
  std::vector<StepResult> results_;
  std::vector<RequestId> failed_;
  std::vector<SequenceId> over_limit_;
};

}  // namespace paceline
