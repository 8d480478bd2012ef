#include "http/connection_output.h"

#include <algorithm>
#include <utility>

#include "http/generation_stream.h"

namespace paceline {

ConnectionOutput::ConnectionOutput(std::size_t limit_bytes)
    : budget_(std::make_shared<OutputBudget>(limit_bytes)) {}

void ConnectionOutput::add(GenerationStream& stream) { streams_.push_back(&stream); }

void ConnectionOutput::remove(GenerationStream& stream) {
  streams_.erase(std::remove(streams_.begin(), streams_.end(), &stream), streams_.end());
}

void ConnectionOutput::note_level() {
  if (!budget_->is_below_half()) may_be_paused_ = true;
}

void ConnectionOutput::note_taken(bool is_large) {
  if (is_large) may_be_paused_ = true;
  if (!may_be_paused_ || !budget_->is_below_half()) return;
  may_be_paused_ = false;
  for (GenerationStream* stream : streams_) stream->resume();
}

}  // namespace paceline
