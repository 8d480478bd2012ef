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
                 runtime.isa) {
  kept_sequences_.reserve(static_cast<std::size_t>(limits.max_logits_rows));
}

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
  int num_rows = batch.num_rows();
  embed(batch);
  const float* delta = nullptr;
  for (int l = 0; l < config_.n_layers; ++l) {
    const LayerWeights& layer = weights_.layers[static_cast<std::size_t>(l)];

    add_and_normalize(num_rows, delta, layer.attention_norm);
    linear(layer.qkv, a.qkv);
    rotate_and_store(batch, cache.layer(l));
    if (l + 1 == config_.n_layers) {
      num_rows = keep_logits_rows(batch);
      if (num_rows == 0) return result;
    }
    {
      const PartTimer timer(clock_, result.attention_seconds);
      attention_.run(team_, cache.layer(l), a.qkv.data(), a.qkv.columns(), a.attention.data());
    }
    quantize_attention(num_rows);
    linear(layer.attention_output, a.delta);

    add_and_normalize(num_rows, a.delta.data(), layer.ffn_norm);
    linear(layer.gate_up, a.gate_up);
    apply_swiglu(num_rows);
    linear(layer.down, a.delta);
    delta = a.delta.data();
  }

  add_and_normalize(num_rows, delta, weights_.output_norm);
  const PartTimer timer(clock_, result.lm_head_seconds);
  a.input.multiply(team_, kernels_, weights_.head, a.logits.data());
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
void Qwen2Model::add_and_normalize(int num_rows, const float* delta, std::span<const float> norm) {
  const int n = config_.hidden_size;
  activations_.input.reset(num_rows, n);
  for_rows(num_rows, [&](int row, int worker) {
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

void Qwen2Model::quantize_attention(int num_rows) {
  activations_.input.reset(num_rows, config_.n_heads * config_.head_dim);
  for_rows(num_rows, [&](int row, int worker) {
    const std::span<float> out = activations_.input.begin_row(row, worker);
    std::copy_n(activations_.attention.row(row), out.size(), out.begin());
    activations_.input.end_row(kernels_, row, worker);
  });
}

void Qwen2Model::apply_swiglu(int num_rows) {
  const int n = config_.ffn_size;
  activations_.input.reset(num_rows, n);
  for_rows(num_rows, [&](int row, int worker) {
    const float* gate = activations_.gate_up.row(row);
    kernels_.swiglu(gate, gate + n, n, activations_.input.begin_row(row, worker).data());
    activations_.input.end_row(kernels_, row, worker);
  });
}

/// Moves the rows that get logits to the front and plans attention for them: once the last layer's
/// K and V are stored, nobody needs the others. Returns how many they are.
int Qwen2Model::keep_logits_rows(const ForwardBatch& batch) {
  const int num_rows = static_cast<int>(batch.logits_rows.size());
  if (num_rows == batch.num_rows()) return num_rows;
  kept_sequences_.clear();
  auto sequence = batch.sequences.begin();
  for (int i = 0; i < num_rows; ++i) {
    const int row = batch.logits_rows[static_cast<std::size_t>(i)];
    DCHECK(row >= i);
    std::copy_n(activations_.hidden.row(row), activations_.hidden.columns(),
                activations_.hidden.row(i));
    std::copy_n(activations_.qkv.row(row), activations_.qkv.columns(), activations_.qkv.row(i));
    while (row >= sequence->first_row + sequence->num_rows) ++sequence;
    kept_sequences_.push_back({.first_row = i,
                               .num_rows = 1,
                               .start_position = batch.positions[static_cast<std::size_t>(row)],
                               .blocks = sequence->blocks});
  }
  attention_.plan(kept_sequences_);
  return num_rows;
}

}  // namespace paceline
