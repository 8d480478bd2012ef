#pragma once

#include <memory>

#include "base/error.h"
#include "engine/model_runner.h"
#include "model/forward_batch.h"
#include "model/kv_cache.h"
#include "model/qwen2_model.h"

namespace paceline {

/// Runs steps on the processor: StepPlan → ForwardBatch → Qwen2Model. Owns the model and the memory
/// behind the pool's block ids. Engine thread.
class CpuModelRunner final : public ModelRunner {
 public:
  CpuModelRunner(std::unique_ptr<Qwen2Model> model, KvCache cache);

  /// Errors: kEngineError when the plan goes beyond the model's limits (tokens, logits rows,
  /// context, vocabulary) or the pool; nothing is computed or copied then.
  [[nodiscard]] Result<StepLogits> run(const StepPlan& plan) override;

  [[nodiscard]] const Qwen2Model& model() const { return *model_; }
  [[nodiscard]] const KvCache& cache() const { return cache_; }

 private:
  [[nodiscard]] Result<void> check(const StepPlan& plan) const;
  [[nodiscard]] Result<void> check(const StepPlan& plan, const SequenceStep& sequence) const;
  void fill_batch(const StepPlan& plan);

  std::unique_ptr<Qwen2Model> model_;
  KvCache cache_;
  ForwardBatch batch_;
};

}  // namespace paceline
