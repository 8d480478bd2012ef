#pragma once

#include <memory>
#include <vector>

#include "engine/output_stream.h"

namespace paceline {

class GenerationStream;

/// The undelivered output of one connection and the streams it belongs to. The engine pauses all of
/// them while the budget is over its limit; here it is noticed when they may run again. Owned by
/// the connection; confined to its strand.
class ConnectionOutput {
 public:
  /// Bytes above which the connection's sequences are paused.
  explicit ConnectionOutput(std::size_t limit_bytes);

  [[nodiscard]] const std::shared_ptr<OutputBudget>& budget() const { return budget_; }

  void add(GenerationStream& stream);
  void remove(GenerationStream& stream);

  /// Before an event is taken from any of the streams.
  void note_level();
  /// After an event was taken: resumes all streams when the level has fallen below half since it
  /// was above. `is_large`: the event alone may have been half the budget.
  void note_taken(bool is_large);

 private:
  const std::shared_ptr<OutputBudget> budget_;
  std::vector<GenerationStream*> streams_;
  bool may_be_paused_ = false;
};

}  // namespace paceline
