#include "engine/engine_loop.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace paceline {
namespace {

// A plan can only stay empty while something else must happen first; this bounds the wait for it.
constexpr Duration kEmptyPlanWait = std::chrono::milliseconds(10);

// CPU time of the calling thread.
double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Error draining() { return {ErrorCode::kServerDraining, "the server is shutting down"}; }

Error cancelled(CancelCause cause) {
  switch (cause) {
    case CancelCause::kDeadline:
      return {ErrorCode::kDeadlineExceeded, "the request's time limit has passed"};
    case CancelCause::kDrain:
      return draining();
    case CancelCause::kDisconnect:
    case CancelCause::kApi:
    case CancelCause::kAdmin:
    case CancelCause::kSlowReader:
      break;
  }
  return {ErrorCode::kRequestCancelled, "the request was cancelled"};
}

}  // namespace

EngineLoop::EngineLoop(const EngineOptions& options, Parts parts, CommandQueue& commands,
                       SnapshotPublisher& publisher)
    : options_(options),
      scheduler_(std::move(parts.scheduler)),
      runner_(std::move(parts.runner)),
      tokenizer_(std::move(parts.tokenizer)),
      metrics_(parts.metrics),
      clock_(parts.clock),
      num_threads_(parts.team == nullptr ? 1 : parts.team->num_threads()),
      commands_(commands),
      publisher_(publisher),
      requests_(*scheduler_, *tokenizer_, metrics_, commands),
      output_(requests_, *scheduler_, *tokenizer_, metrics_, clock_, options.vocab_size,
              parts.team) {
  state_.last_step_at = clock_.now();
  publish();
}

void EngineLoop::run() {
  while (true) {
    apply(commands_.take());
    if (is_stopping_) break;
    enforce_time_limits();
    requests_.resume_ready();
    if (has_work()) {
      if (!std::exchange(state_.has_work, true)) {
        state_.last_step_at = clock_.now();
        publish();
      }
      step();
      publish_if_due();
    } else {
      rest();
    }
  }
  requests_.cancel_all(CancelCause::kDrain, draining(), clock_.now());
  state_.has_work = false;
  publish();
}

void EngineLoop::apply(Commands commands) {
  const TimePoint now = clock_.now();
  for (Submission& submission : commands.submissions) {
    requests_.accept(std::move(submission), now);
  }
  for (const auto& [id, cause] : commands.cancellations) {
    requests_.cancel(id, cause, cancelled(cause), now);
  }
  for (const RequestId id : commands.resumptions) requests_.resume(id);
  if (commands.drain_deadline) {
    drain_deadline_ =
        std::min(*commands.drain_deadline, drain_deadline_.value_or(*commands.drain_deadline));
  }
  is_stopping_ = is_stopping_ || commands.is_stopping;
}

void EngineLoop::enforce_time_limits() {
  const TimePoint now = clock_.now();
  requests_.expire(now);
  if (drain_deadline_ && now >= *drain_deadline_) {
    requests_.cancel_all(CancelCause::kDrain, draining(), now);
  }
}

void EngineLoop::step() {
  const TimePoint start = clock_.now();
  const double cpu_start = thread_cpu_seconds();
  try {
    const StepPlan& plan = scheduler_->schedule();
    if (plan.empty()) {
      commands_.wait(kEmptyPlanWait);
      return;
    }
    for (const SequenceStep& part : plan.sequences) requests_.note_scheduled(part.sequence, start);
    metrics_.step_part_seconds[StepPart::kSchedule].add(to_seconds(clock_.now() - start));
    if (const auto failure = compute(plan)) return abandon_step(plan, *failure);
    share_cpu(plan, (thread_cpu_seconds() - cpu_start) * num_threads_);
    const TimePoint computed = clock_.now();
    scheduler_->commit(output_.results(), computed - start);
    finish_step(plan);
    const TimePoint end = clock_.now();
    metrics_.step_part_seconds[StepPart::kSchedule].add(to_seconds(end - computed));
    metrics_.step_duration.observe(to_seconds(end - start));
    state_.last_step_at = end;
    metrics_.set_last_step(end, true);
  } catch (const std::exception& failure) {
    break_down(std::string("the scheduler failed: ") + failure.what());
  }
}

std::optional<std::string> EngineLoop::compute(const StepPlan& plan) {
  try {
    const TimePoint start = clock_.now();
    const Result<StepLogits> logits = runner_->run(plan);
    if (!logits) return logits.error().message;
    if (logits->num_rows != plan.num_logits_rows) {
      return "a step gave another number of rows than planned";
    }
    const TimePoint ran = clock_.now();
    output_.sample(plan, *logits);
    const TimePoint sampled = clock_.now();
    output_.emit(plan);
    const TimePoint emitted = clock_.now();

    auto& parts = metrics_.step_part_seconds;
    const double model =
        logits->linear_seconds + logits->attention_seconds + logits->lm_head_seconds;
    parts[StepPart::kPrepare].add(std::max(0.0, to_seconds(ran - start) - model));
    parts[StepPart::kLinear].add(logits->linear_seconds);
    parts[StepPart::kAttention].add(logits->attention_seconds);
    parts[StepPart::kLmHead].add(logits->lm_head_seconds);
    parts[StepPart::kSample].add(to_seconds(sampled - ran));
    parts[StepPart::kEmit].add(to_seconds(emitted - sampled));
    return std::nullopt;
  } catch (const std::exception& failure) {
    return std::string("a step failed: ") + failure.what();
  }
}

void EngineLoop::finish_step(const StepPlan& plan) {
  metrics_.steps.add();
  metrics_.step_sequences.observe(static_cast<double>(plan.sequences.size()));
  metrics_.iteration_tokens.observe(static_cast<double>(plan.token_ids.size()));
  metrics_.step_tokens[StepTokenKind::kPrefill].add(plan.num_prefill_tokens);
  metrics_.step_tokens[StepTokenKind::kDecode].add(plan.num_decode_tokens);

  const TimePoint now = clock_.now();
  requests_.retire(scheduler_->retired(), now);
  for (const RequestId id : output_.failed()) requests_.fail_marked(id, now);
  for (const SequenceId sequence : output_.over_limit()) {
    if (RequestState* request = requests_.find(sequence)) requests_.pause(*request);
  }
}

void EngineLoop::abandon_step(const StepPlan& plan, const std::string& what) {
  std::vector<RequestId> ids;
  for (const SequenceStep& part : plan.sequences) {
    const RequestState* request = requests_.find(part.sequence);
    if (request != nullptr) ids.push_back(request->request().id);
  }
  scheduler_->abort_step();
  const TimePoint now = clock_.now();
  for (const RequestId id : ids) {
    requests_.fail(id, {ErrorCode::kEngineError, what}, now);
  }
  state_.last_step_at = now;
  const auto broken = scheduler_->check_invariants();
  if (!broken.empty()) break_down(broken.front());
}

void EngineLoop::share_cpu(const StepPlan& plan, double cpu_seconds) {
  const double per_token = cpu_seconds / static_cast<double>(plan.token_ids.size());
  for (const SequenceStep& part : plan.sequences) {
    requests_.find(part.sequence)->cpu_seconds += per_token * part.num_tokens;
  }
}

void EngineLoop::rest() {
  if (std::exchange(state_.has_work, false)) {
    const auto broken = scheduler_->check_invariants();
    if (!broken.empty()) return break_down(broken.front());
  }
  metrics_.set_last_step(state_.last_step_at, false);
  publish();
  const TimePoint start = clock_.now();
  commands_.wait(time_to_wake());
  metrics_.step_part_seconds[StepPart::kIdle].add(to_seconds(clock_.now() - start));
}

std::optional<Duration> EngineLoop::time_to_wake() const {
  std::optional<TimePoint> wake = requests_.nearest_deadline();
  if (drain_deadline_ && !requests_.is_empty()) {
    wake = std::min(*drain_deadline_, wake.value_or(*drain_deadline_));
  }
  if (!wake) return std::nullopt;
  return std::max(Duration::zero(), *wake - clock_.now());
}

void EngineLoop::publish() {
  publisher_.publish(scheduler_->snapshot(), state_, [this](SequenceId sequence) {
    const RequestState* request = requests_.find(sequence);
    return request != nullptr && !request->started_at;
  });
}

void EngineLoop::publish_if_due() {
  if (clock_.now() - publisher_.last_published_at() >= options_.snapshot_interval) publish();
}

void EngineLoop::break_down(const std::string& fault) {
  state_.fault = fault;
  state_.has_work = false;
  commands_.drain(clock_.now());
  requests_.abandon_all({ErrorCode::kEngineError, fault}, clock_.now());
  metrics_.set_last_step(state_.last_step_at, false);
  publish();
}

}  // namespace paceline
