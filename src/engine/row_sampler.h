#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "engine/choice_output.h"
#include "engine/model_runner.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"
#include "sampling/sampling_params.h"

namespace paceline {

/// What is wanted of one row of logits, and what came of it.
struct RowJob {
  int row = 0;
  const SamplingParams* params = nullptr;
  const ChoiceOutput* output = nullptr;  ///< samples its next token; null: scores `token`
  bool wants_logprobs = false;
  TokenId token{};  ///< the sampled one, or the one to score
  std::optional<TokenLogprobs> logprobs = {};
  std::optional<Error> error = {};
};

/// Samples and scores the rows of a step, spread over the compute team. What a row gives depends on
/// that row and its job alone. Owned by the engine loop; engine thread.
class RowSampler {
 public:
  /// `team`: may be null; then the engine thread does all rows. Rows are cut to `vocab_size`
  /// entries, so that padding rows of the model are never seen.
  RowSampler(int vocab_size, ThreadPool* team);

  /// Requires: every job's row is in `logits`.
  void run(std::span<RowJob> jobs, const StepLogits& logits);

 private:
  struct Worker {
    Sampler sampler;
    LogprobsCalculator logprobs;
    std::vector<float> row;  // copy that a processor may change
  };

  void run_job(RowJob& job, const StepLogits& logits, Worker& worker) const;

  const std::size_t vocab_size_;
  ThreadPool* const team_;
  std::vector<Worker> workers_;
};

}  // namespace paceline
