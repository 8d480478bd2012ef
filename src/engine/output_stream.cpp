#include "engine/output_stream.h"

#include <utility>

namespace paceline {
namespace {

std::size_t bytes_of(const std::vector<TokenLogprobText>& tokens) {
  std::size_t bytes = tokens.size() * sizeof(TokenLogprobText);
  for (const TokenLogprobText& token : tokens) {
    bytes += token.chosen.bytes.size() + token.top.size() * sizeof(LogprobText);
    for (const LogprobText& top : token.top) bytes += top.bytes.size();
  }
  return bytes;
}

// What an event weighs in the budget: its own size and that of what it owns.
std::size_t bytes_of(const GenerationEvent& event) {
  std::size_t bytes = sizeof(GenerationEvent);
  if (const auto* delta = std::get_if<ChoiceDelta>(&event)) {
    bytes +=
        delta->text.size() + delta->token_ids.size() * sizeof(TokenId) + bytes_of(delta->logprobs);
  } else if (const auto* prompt = std::get_if<PromptLogprobs>(&event)) {
    bytes += bytes_of(prompt->tokens);
  } else if (const auto* failed = std::get_if<RequestFailed>(&event)) {
    bytes += failed->error.message.size();
  }
  return bytes;
}

}  // namespace

OutputStream::OutputStream(std::shared_ptr<OutputBudget> budget, std::function<void()> wake)
    : budget_(std::move(budget)),
      wake_(std::make_shared<const std::function<void()>>(std::move(wake))) {}

OutputStream::~OutputStream() { budget_->remove(queued_bytes_); }

void OutputStream::push(GenerationEvent event) {
  const std::size_t bytes = bytes_of(event);
  std::shared_ptr<const std::function<void()>> wake;
  {
    const std::lock_guard lock(mutex_);
    if (wake_ == nullptr) return;
    if (events_.empty()) wake = wake_;
    events_.push_back({std::move(event), bytes});
    queued_bytes_ += bytes;
    budget_->add(bytes);
  }
  if (wake != nullptr && *wake) (*wake)();
}

std::optional<GenerationEvent> OutputStream::try_pop() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  std::optional<GenerationEvent> event(std::move(events_.front().event));
  queued_bytes_ -= events_.front().bytes;
  budget_->remove(events_.front().bytes);
  events_.pop_front();
  return event;
}

void OutputStream::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  events_.clear();
  budget_->remove(queued_bytes_);
  queued_bytes_ = 0;
}

}  // namespace paceline
