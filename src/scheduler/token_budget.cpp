#include "scheduler/token_budget.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

/// Largest number of tokens, at most `max_tokens`, with which the step is predicted to stay within
/// the limit; the prediction grows with every token.
int tokens_within(int start, int max_tokens, const CostModel& model, const StepWork& planned,
                  double limit_ms) {
  int low = 0;
  int high = max_tokens;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    StepWork work = planned;
    work.add(start, middle);
    if (model.predict_ms(work) <= limit_ms) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

double step_limit_ms(double decode_ms, double target_ms) {
  return decode_ms > target_ms ? 2 * target_ms : target_ms;
}

int chunk_size(const ChunkRequest& request, const CostModel& model, const StepWork& planned,
               double limit_ms) {
  DCHECK(request.min_tokens <= request.max_tokens);
  const int all = tokens_within(request.start, request.max_tokens, model, planned, limit_ms);
  if (request.is_first && all <= request.min_tokens) return request.min_tokens;
  if (all < request.min_tokens) return 0;
  if (!request.shares) return all;
  const double half_ms = (model.predict_ms(planned) + limit_ms) / 2;
  const int half = tokens_within(request.start, request.max_tokens, model, planned, half_ms);
  return std::max(half, request.min_tokens);
}

}  // namespace paceline
