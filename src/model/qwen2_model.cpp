#include "model/qwen2_model.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "model/kernels/gemm_blas.h"
#include "model/kernels/kv_store.h"

namespace paceline {
namespace {

// Rows of normalisation, RoPE or SwiGLU that a worker takes at a time: about 10 µs of work.
constexpr int kRowsPerTask = 4;

}  // namespace

/// Adds the time until its end to a sum.
class Qwen2Model::PartTimer {
 public:
  PartTimer(const Clock& clock, double& seconds)
      : clock_(clock), seconds_(seconds), start_(clock.now()) {}
  ~PartTimer() { seconds_ += to_seconds(clock_.now() - start_); }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  const Clock& clock_;
  double& seconds_;
  TimePoint start_;
};

Result<std::unique_ptr<Qwen2Model>> Qwen2Model::create(const ModelConfig& config, Weights weights,
                                                       const StepLimits& limits, int max_context,
                                                       const ModelRuntime& runtime) {
  CHECK(limits.max_tokens > 0 && limits.max_logits_rows > 0);
  CHECK(max_context > 0 && max_context <= config.max_context);
  if (config.head_dim > kMaxHeadDim) {
    return fail(ErrorCode::kBadFile, "heads are " + std::to_string(config.head_dim) +
                                         " wide, supported are at most " +
                                         std::to_string(kMaxHeadDim));
  }
  if (weights.form == WeightsForm::kF32) set_blas_threads(runtime.team.num_threads());
  return std::unique_ptr<Qwen2Model>(
      new Qwen2Model(config, std::move(weights), limits, max_context, runtime));
}

Qwen2Model::Qwen2Model(const ModelConfig& config, Weights weights, const StepLimits& limits,
                       int max_context, const ModelRuntime& runtime)
    : config_(config),
      weights_(std::move(weights)),
      limits_(limits),
      max_context_(max_context),
      team_(runtime.team),
      clock_(runtime.clock),
      kernels_(kernels_for(runtime.isa)),
      attention_kernels_(attention_kernels(runtime.isa)),
      rope_(config, max_context, runtime.team),
      activations_(config, weights_.form, limits, runtime.team.num_threads()),
      attention_({.n_heads = config.n_heads,
                  .n_kv_heads = config.n_kv_heads,
                  .head_dim = config.head_dim,
                  .max_tokens = limits.max_tokens,
                  .num_threads = runtime.team.num_threads()},
                 runtime.isa) {}

ForwardResult Qwen2Model::forward(const ForwardBatch& batch, KvCache& cache) {
  DCHECK(batch.num_rows() <= limits_.max_tokens);
  DCHECK(batch.logits_rows.size() <= static_cast<std::size_t>(limits_.max_logits_rows));
  ForwardResult result;
  Activations& a = activations_;
  const auto linear = [&](const LinearWeights& weights, FloatRows& out) {
    const PartTimer timer(clock_, result.linear_seconds);
    a.input.multiply(team_, kernels_, weights, out.data());
  };

  attention_.plan(batch.sequences);
  embed(batch);
  const float* delta = nullptr;
  for (int l = 0; l < config_.n_layers; ++l) {
    const LayerWeights& layer = weights_.layers[static_cast<std::size_t>(l)];

    add_and_normalize(batch, delta, layer.attention_norm);
    linear(layer.qkv, a.qkv);
    rotate_and_store(batch, cache.layer(l));
    {
      const PartTimer timer(clock_, result.attention_seconds);
      attention_.run(team_, cache.layer(l), a.qkv.data(), a.qkv.columns(), a.attention.data());
    }
    quantize_attention(batch);
    linear(layer.attention_output, a.delta);

    add_and_normalize(batch, a.delta.data(), layer.ffn_norm);
    linear(layer.gate_up, a.gate_up);
    apply_swiglu(batch);
    linear(layer.down, a.delta);
    delta = a.delta.data();
  }

  if (!batch.logits_rows.empty()) {
    normalize_logits_rows(batch);
    const PartTimer timer(clock_, result.lm_head_seconds);
    a.input.multiply(team_, kernels_, weights_.head, a.logits.data());
  }
  result.logits = a.logits.data();
  return result;
}

/// Calls function(row, worker) for all rows.
template <typename RowFunction>
void Qwen2Model::for_rows(int num_rows, RowFunction function) {
  const int num_tasks = (num_rows + kRowsPerTask - 1) / kRowsPerTask;
  team_.parallel_for(num_tasks, [&](int task, int worker) {
    const int end = std::min((task + 1) * kRowsPerTask, num_rows);
    for (int row = task * kRowsPerTask; row < end; ++row) function(row, worker);
  });
}

void Qwen2Model::embed(const ForwardBatch& batch) {
  const LinearWeights& embedding = weights_.token_embedding();
  for_rows(batch.num_rows(), [&](int row, int) {
    const int id = raw(batch.token_ids[static_cast<std::size_t>(row)]);
    embedding.read_row(kernels_, id, {activations_.hidden.row(row), activations_.hidden.columns()});
  });
}

/// hidden += delta (unless null); the next linear layer's input is RMSNorm(hidden).
void Qwen2Model::add_and_normalize(const ForwardBatch& batch, const float* delta,
                                   std::span<const float> norm) {
  const int n = config_.hidden_size;
  activations_.input.reset(batch.num_rows(), n);
  for_rows(batch.num_rows(), [&](int row, int worker) {
    float* hidden = activations_.hidden.row(row);
    if (delta != nullptr) kernels_.add(hidden, delta + std::ptrdiff_t{row} * n, n);
    float* out = activations_.input.begin_row(row, worker).data();
    kernels_.rms_norm(hidden, norm.data(), n, config_.rms_eps, out);
    activations_.input.end_row(kernels_, row, worker);
  });
}

/// Rotates queries and keys in place and puts K and V into their slots.
void Qwen2Model::rotate_and_store(const ForwardBatch& batch, const KvLayerView& cache) {
  const int dim = config_.head_dim;
  for_rows(batch.num_rows(), [&](int row, int) {
    const auto r = static_cast<std::size_t>(row);
    const float* cos = rope_.cos(batch.positions[r]);
    const float* sin = rope_.sin(batch.positions[r]);
    float* qkv = activations_.qkv.row(row);
    // Keys follow the queries, so both are rotated at once.
    kernels_.rope(qkv, config_.n_heads + config_.n_kv_heads, dim, cos, sin);
    const float* keys = qkv + std::ptrdiff_t{config_.n_heads} * dim;
    const float* values = keys + std::ptrdiff_t{config_.n_kv_heads} * dim;
    const auto [block, offset] = batch.slot_mapping[r];
    std::byte* group = cache.base + index_of(block) * cache.block_stride +
                       static_cast<std::size_t>(offset / kKvGroupSize) * cache.layout.bytes;
    for (int head = 0; head < config_.n_kv_heads; ++head) {
      store_key_value(attention_kernels_, cache.layout,
                      group + static_cast<std::size_t>(head) * cache.head_stride,
                      offset % kKvGroupSize, keys + std::ptrdiff_t{head} * dim,
                      values + std::ptrdiff_t{head} * dim);
    }
  });
}

void Qwen2Model::quantize_attention(const ForwardBatch& batch) {
  activations_.input.reset(batch.num_rows(), config_.n_heads * config_.head_dim);
  for_rows(batch.num_rows(), [&](int row, int worker) {
    const std::span<float> out = activations_.input.begin_row(row, worker);
    std::copy_n(activations_.attention.row(row), out.size(), out.begin());
    activations_.input.end_row(kernels_, row, worker);
  });
}

void Qwen2Model::apply_swiglu(const ForwardBatch& batch) {
  const int n = config_.ffn_size;
  activations_.input.reset(batch.num_rows(), n);
  for_rows(batch.num_rows(), [&](int row, int worker) {
    const float* gate = activations_.gate_up.row(row);
    kernels_.swiglu(gate, gate + n, n, activations_.input.begin_row(row, worker).data());
    activations_.input.end_row(kernels_, row, worker);
  });
}

/// Last residual addition and final norm, of the rows that get logits only.
void Qwen2Model::normalize_logits_rows(const ForwardBatch& batch) {
  const int n = config_.hidden_size;
  const int num_rows = static_cast<int>(batch.logits_rows.size());
  activations_.input.reset(num_rows, n);
  for_rows(num_rows, [&](int i, int worker) {
    const int row = batch.logits_rows[static_cast<std::size_t>(i)];
    float* hidden = activations_.hidden.row(row);
    kernels_.add(hidden, activations_.delta.row(row), n);
    kernels_.rms_norm(hidden, weights_.output_norm.data(), n, config_.rms_eps,
                      activations_.input.begin_row(i, worker).data());
    activations_.input.end_row(kernels_, i, worker);
  });
}

}  // namespace paceline
