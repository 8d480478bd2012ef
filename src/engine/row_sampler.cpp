#include "engine/row_sampler.h"

#include <exception>
#include <string>

namespace paceline {

RowSampler::RowSampler(int vocab_size, ThreadPool* team)
    : vocab_size_(static_cast<std::size_t>(vocab_size)),
      team_(team),
      workers_(team == nullptr ? 1 : static_cast<std::size_t>(team->num_threads())) {}

void RowSampler::run(std::span<RowJob> jobs, const StepLogits& logits) {
  const auto task = [&](int i, int worker) {
    RowJob& job = jobs[static_cast<std::size_t>(i)];
    try {
      run_job(job, logits, workers_[static_cast<std::size_t>(worker)]);
    } catch (const std::exception& failure) {
      job.error = Error{ErrorCode::kEngineError, std::string("sampling failed: ") + failure.what()};
    }
  };
  const int num_jobs = static_cast<int>(jobs.size());
  if (team_ != nullptr) {
    team_->parallel_for(num_jobs, task);
  } else {
    for (int i = 0; i < num_jobs; ++i) task(i, 0);
  }
}

void RowSampler::run_job(RowJob& job, const StepLogits& logits, Worker& worker) const {
  const std::span<const float> raw_row = logits.row(job.row, vocab_size_);
  if (job.output != nullptr) {
    std::span<const float> row = raw_row;
    if (job.output->processor().is_active()) {
      worker.row.assign(raw_row.begin(), raw_row.end());
      job.output->processor().apply(worker.row);
      row = worker.row;
    }
    auto token = worker.sampler.sample(row, *job.params, job.output->uniform());
    if (!token) {
      job.error = std::move(token.error());
      return;
    }
    job.token = *token;
  }
  if (job.wants_logprobs) {
    job.logprobs = worker.logprobs.score(raw_row, job.token, job.params->top_logprobs);
  }
}

}  // namespace paceline
