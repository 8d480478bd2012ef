#include "scheduler/admission.h"

#include <algorithm>
#include <string>

namespace paceline {

int max_batch_size(const SchedulerOptions& options) {
  return std::min({options.max_running, options.max_logits_rows, options.max_step_tokens});
}

int max_total_tokens(const SchedulerOptions& options) {
  return static_cast<int>(std::min<std::int64_t>(
      options.max_context, static_cast<std::int64_t>(options.num_blocks) * options.block_size));
}

int blocks_for(int num_tokens, int block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

Result<void> check_fits(int num_prompt_tokens, int max_new_tokens,
                        const SchedulerOptions& options) {
  const std::int64_t total = std::int64_t{num_prompt_tokens} + max_new_tokens;
  const std::string demand = "The prompt has " + std::to_string(num_prompt_tokens) +
                             " tokens and up to " + std::to_string(max_new_tokens) +
                             " are to be generated, ";
  if (total > options.max_context) {
    return fail(ErrorCode::kContextLengthExceeded,
                demand + "but the context holds " + std::to_string(options.max_context) + ".");
  }
  if (total > max_total_tokens(options)) {
    return fail(ErrorCode::kKvCapacityExceeded, demand + "but the server's KV cache holds " +
                                                    std::to_string(max_total_tokens(options)) +
                                                    ".");
  }
  return {};
}

Result<void> check_queue(const QueueLoad& waiting, std::int64_t num_tokens,
                         const SchedulerOptions& options) {
  if (waiting.num_requests >= options.max_queued) {
    return fail(ErrorCode::kServerOverloaded,
                "The server is overloaded: " + std::to_string(waiting.num_requests) +
                    " requests are waiting. Try again later.");
  }
  if (waiting.num_tokens > 0 && waiting.num_tokens + num_tokens > options.max_queued_tokens) {
    return fail(ErrorCode::kServerOverloaded,
                "The server is overloaded: " + std::to_string(waiting.num_tokens) +
                    " prompt tokens are waiting. Try again later.");
  }
  return {};
}

int blocks_to_admit(int num_tokens, int num_held_hits, int block_size,
                    const AdmissionState& state) {
  if (state.num_active == 0) return blocks_for(num_tokens, block_size) - num_held_hits;
  return blocks_for(num_tokens + 1, block_size) - num_held_hits + state.promised_blocks +
         state.num_active + 1;
}

DecisionReason admission_obstacle(int needed_blocks, const AdmissionState& state) {
  if (state.num_running >= state.max_running) return DecisionReason::kBatchFull;
  if (state.available_blocks < needed_blocks) return DecisionReason::kKvFull;
  return DecisionReason::kNone;
}

}  // namespace paceline
