#include "engine/request_table.h"

#include <utility>
#include <vector>

namespace paceline {

RequestTable::RequestTable(Scheduler& scheduler, const Tokenizer& tokenizer, EngineMetrics& metrics,
                           CommandQueue& commands)
    : scheduler_(scheduler), tokenizer_(tokenizer), metrics_(metrics), commands_(commands) {}

void RequestTable::accept(Submission submission, TimePoint now) {
  const RequestId id = submission.request.id;
  auto state =
      std::make_unique<RequestState>(std::move(submission.request), std::move(submission.stream),
                                     tokenizer_, SequenceId{next_sequence_});
  const GenerationRequest& request = state->request();
  Result<void> queued;
  if (breakdown_) {
    queued = tl::unexpected(*breakdown_);
  } else {
    queued = scheduler_.add(state->new_sequences());
  }
  if (!queued) {
    metrics_.tenant(request.tenant).requests[RequestOutcome::kRejected].add();
    state->stream().push(RequestFailed{
        .error = std::move(queued.error()), .usage = {}, .receipt = state->receipt(now)});
    commands_.forget(id);
    return;
  }
  next_sequence_ += state->choices().size();
  metrics_.requests_accepted[static_cast<std::size_t>(request.api)][request.transport].add();
  metrics_.request_n.observe(request.sampling.n);
  metrics_.request_max_tokens.observe(request.max_tokens);
  if (request.deadline) deadlines_.add(id, DeadlineQueue::Kind::kTotal, *request.deadline);
  if (request.queue_deadline) {
    deadlines_.add(id, DeadlineQueue::Kind::kQueue, *request.queue_deadline);
  }
  for (const Choice& choice : state->choices()) {
    by_sequence_.emplace(choice.sequence, state.get());
  }
  requests_.emplace(id, std::move(state));
}

void RequestTable::note_scheduled(SequenceId sequence, TimePoint now) {
  RequestState* request = find(sequence);
  if (request == nullptr) return;
  Choice& choice = request->choice_of(sequence);
  if (choice.is_started) return;
  choice.is_started = true;
  const Sequence* scheduled = scheduler_.find(sequence);
  if (choice.is_first && scheduled != nullptr) {
    request->usage.cached_tokens += scheduled->stats().cached_tokens;
  }
  if (request->started_at) return;

  request->started_at = now;
  const GenerationRequest& asked = request->request();
  for (const auto& prompt : asked.prompts) {
    request->usage.prompt_tokens += static_cast<int>(prompt.size());
  }
  if (asked.queue_deadline) {
    deadlines_.remove(asked.id, DeadlineQueue::Kind::kQueue, *asked.queue_deadline);
  }
  const double waited = to_seconds(now - asked.accepted_at);
  metrics_.queue_time.observe(waited);
  metrics_.tenant(asked.tenant).queue_time.observe(waited);
  request->stream().push(RequestStarted{request->usage});
}

void RequestTable::retire(std::span<const Scheduler::Retired> retired, TimePoint now) {
  for (const auto& [sequence, stats] : retired) {
    const auto entry = by_sequence_.find(sequence);
    if (entry == by_sequence_.end()) continue;
    RequestState& request = *entry->second;
    by_sequence_.erase(entry);
    request.add_cost(stats);
    ++request.num_finished;
    if (request.is_finished() && !request.failure)
      send_finished(requests_.find(request.request().id), now);
  }
}

void RequestTable::cancel(RequestId id, CancelCause cause, Error error, TimePoint now) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end()) return;
  const auto phase = static_cast<std::size_t>(entry->second->phase());
  metrics_.cancellations[phase][cause].add();
  end_badly(entry, error, RequestOutcome::kCancelled, FinishedReason::kAbort, now);
}

void RequestTable::fail(RequestId id, const Error& error, TimePoint now) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end()) return;
  end_badly(entry, error, RequestOutcome::kError, FinishedReason::kError, now);
}

void RequestTable::fail_marked(RequestId id, TimePoint now) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end()) return;
  const Error error = *entry->second->failure;
  end_badly(entry, error, RequestOutcome::kError, FinishedReason::kError, now);
}

void RequestTable::fail_all(const Error& error, TimePoint now) {
  while (!requests_.empty()) fail(requests_.begin()->first, error, now);
}

void RequestTable::abandon_all(const Error& error, TimePoint now) {
  breakdown_ = error;
  fail_all(error, now);
}

void RequestTable::cancel_all(CancelCause cause, const Error& error, TimePoint now) {
  while (!requests_.empty()) cancel(requests_.begin()->first, cause, error, now);
}

void RequestTable::expire(TimePoint now) {
  for (const auto& [id, kind] : deadlines_.take_expired(now)) {
    if (kind == DeadlineQueue::Kind::kTotal) {
      cancel(id, CancelCause::kDeadline,
             {ErrorCode::kDeadlineExceeded, "the request's time limit has passed"}, now);
    } else {
      fail(id, {ErrorCode::kQueueTimeout, "the request waited too long for its turn"}, now);
    }
  }
}

void RequestTable::pause(RequestState& request) {
  if (!request.is_paused) set_paused(request, true);
}

void RequestTable::resume(RequestId id) {
  const auto entry = requests_.find(id);
  if (entry == requests_.end() || !entry->second->is_paused) return;
  if (entry->second->stream().budget().is_below_half()) set_paused(*entry->second, false);
}

void RequestTable::resume_ready() {
  if (num_paused_ == 0) return;
  for (auto& [id, request] : requests_) {
    if (request->is_paused && request->stream().budget().is_below_half()) {
      set_paused(*request, false);
    }
  }
}

RequestState* RequestTable::find(SequenceId sequence) {
  const auto entry = by_sequence_.find(sequence);
  return entry == by_sequence_.end() ? nullptr : entry->second;
}

void RequestTable::set_paused(RequestState& request, bool paused) {
  request.is_paused = paused;
  num_paused_ += paused ? 1 : static_cast<std::size_t>(-1);
  for (const Choice& choice : request.choices()) {
    if (choice.is_finished) continue;
    if (paused) {
      scheduler_.pause(choice.sequence);
    } else {
      scheduler_.resume(choice.sequence);
    }
  }
}

void RequestTable::end_badly(Requests::iterator entry, const Error& error, RequestOutcome outcome,
                             FinishedReason reason, TimePoint now) {
  RequestState& request = *entry->second;
  for (const Choice& choice : request.choices()) {
    if (by_sequence_.erase(choice.sequence) > 0) {
      std::optional<SequenceStats> stats;
      if (!breakdown_) stats = scheduler_.cancel(choice.sequence);
      if (stats) request.add_cost(*stats);
    }
    if (!choice.is_finished) metrics_.choices_finished[reason].add();
  }
  metrics_.cancelled_tokens[TokenKind::kPrompt].add(request.usage.prompt_tokens);
  metrics_.cancelled_tokens[TokenKind::kCached].add(request.usage.cached_tokens);
  metrics_.cancelled_tokens[TokenKind::kCompletion].add(request.usage.completion_tokens);
  count_end(request, outcome);
  request.stream().push(RequestFailed{error, request.usage, request.receipt(now)});
  forget(entry);
}

void RequestTable::send_finished(Requests::iterator entry, TimePoint now) {
  RequestState& request = *entry->second;
  const Receipt receipt = request.receipt(now);
  metrics_.e2e.observe(receipt.total_ms * 1e-3);
  metrics_.inference_time.observe((receipt.prefill_ms + receipt.decode_ms) * 1e-3);
  metrics_.prefill_time.observe(receipt.prefill_ms * 1e-3);
  metrics_.decode_time.observe(receipt.decode_ms * 1e-3);
  metrics_.request_prompt_tokens.observe(request.usage.prompt_tokens);
  metrics_.request_generation_tokens.observe(request.usage.completion_tokens);
  count_end(request, RequestOutcome::kOk);
  request.stream().push(RequestFinished{request.usage, receipt});
  forget(entry);
}

void RequestTable::count_end(const RequestState& request, RequestOutcome outcome) {
  metrics_.prompt_tokens.add(request.usage.prompt_tokens);
  metrics_.prompt_tokens_cached.add(request.usage.cached_tokens);
  metrics_.receipt_cpu_seconds.add(request.cpu_seconds);
  TenantMetrics& tenant = metrics_.tenant(request.request().tenant);
  tenant.requests[outcome].add();
  tenant.tokens[TokenKind::kPrompt].add(request.usage.prompt_tokens);
  tenant.tokens[TokenKind::kCached].add(request.usage.cached_tokens);
  tenant.tokens[TokenKind::kCompletion].add(request.usage.completion_tokens);
  tenant.cpu_seconds.add(request.cpu_seconds);
  tenant.kv_block_seconds.add(request.kv_block_seconds);
}

void RequestTable::forget(Requests::iterator entry) {
  const GenerationRequest& request = entry->second->request();
  if (entry->second->is_paused) --num_paused_;
  if (request.deadline) {
    deadlines_.remove(request.id, DeadlineQueue::Kind::kTotal, *request.deadline);
  }
  if (request.queue_deadline) {
    deadlines_.remove(request.id, DeadlineQueue::Kind::kQueue, *request.queue_deadline);
  }
  commands_.forget(request.id);
  requests_.erase(entry);
}

}  // namespace paceline
