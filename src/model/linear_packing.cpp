#include "model/linear_packing.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace paceline {
namespace {

// Rows that a worker reads at a time: enough to make the hand-out cheap, and at most 64 · 131072
// floats = 32 MB of scratch for the widest layer.
constexpr int kRowsPerTask = 64;
// Rows between two reports of progress.
constexpr int kRowsPerReport = 4096;

std::string block_name(int layer) { return "blk." + std::to_string(layer) + "."; }

}  // namespace

LinearSpec qkv_spec(const ModelConfig& config, int layer) {
  const std::string block = block_name(layer);
  return {.name = block + "qkv",
          .rows = (config.n_heads + 2 * config.n_kv_heads) * config.head_dim,
          .columns = config.hidden_size,
          .has_bias = true,
          .tensors = {block + "attn_q", block + "attn_k", block + "attn_v"}};
}

LinearSpec attention_output_spec(const ModelConfig& config, int layer) {
  const std::string block = block_name(layer);
  return {.name = block + "attention_output",
          .rows = config.hidden_size,
          .columns = config.n_heads * config.head_dim,
          .tensors = {block + "attn_output"}};
}

LinearSpec gate_up_spec(const ModelConfig& config, int layer) {
  const std::string block = block_name(layer);
  return {.name = block + "gate_up",
          .rows = 2 * config.ffn_size,
          .columns = config.hidden_size,
          .tensors = {block + "ffn_gate", block + "ffn_up"}};
}

LinearSpec down_spec(const ModelConfig& config, int layer) {
  const std::string block = block_name(layer);
  return {.name = block + "down",
          .rows = config.hidden_size,
          .columns = config.ffn_size,
          .tensors = {block + "ffn_down"}};
}

LinearSpec head_spec(const ModelConfig& config) {
  return {.name = "head",
          .rows = config.vocab_rows,
          .columns = config.hidden_size,
          .tensors = {config.tied_embeddings ? "token_embd" : "output"}};
}

LinearSpec embedding_spec(const ModelConfig& config) {
  return {.name = "embedding",
          .rows = config.vocab_rows,
          .columns = config.hidden_size,
          .tensors = {"token_embd"}};
}

std::vector<LinearSpec> linear_specs(const ModelConfig& config) {
  std::vector<LinearSpec> specs;
  if (!config.tied_embeddings) specs.push_back(embedding_spec(config));
  for (int layer = 0; layer < config.n_layers; ++layer) {
    specs.push_back(qkv_spec(config, layer));
    specs.push_back(attention_output_spec(config, layer));
    specs.push_back(gate_up_spec(config, layer));
    specs.push_back(down_spec(config, layer));
  }
  specs.push_back(head_spec(config));
  return specs;
}

LinearPacker::LinearPacker(const TensorSource& source, const KernelTable& kernels, ThreadPool& team,
                           std::function<void(std::uint64_t num_weights)> on_rows)
    : source_(source), kernels_(kernels), team_(team), on_rows_(std::move(on_rows)) {}

Result<QuantizedMatrix> LinearPacker::pack_int8(const LinearSpec& spec) const {
  if (spec.columns > kMaxLinearColumns) {
    return fail(ErrorCode::kBadFile, "layer " + spec.name + " is " + std::to_string(spec.columns) +
                                         " wide, supported are " +
                                         std::to_string(kMaxLinearColumns));
  }
  QuantizedMatrix matrix = QuantizedMatrix::allocate(spec.rows, spec.columns, spec.has_bias);
  const auto done = read(
      spec,
      [&](int first_row, int num_rows, std::span<const float> weights) {
        matrix.pack_rows(kernels_, first_row, num_rows, weights);
      },
      [&](int first_row, std::span<const float> bias) { matrix.set_bias(first_row, bias); });
  if (!done) return tl::unexpected(done.error());
  return matrix;
}

Result<FloatMatrix> LinearPacker::read_f32(const LinearSpec& spec) const {
  FloatMatrix matrix{.rows = spec.rows, .columns = spec.columns, .values = {}, .bias = {}};
  const auto columns = static_cast<std::size_t>(spec.columns);
  matrix.values = AlignedBuffer<float>(static_cast<std::size_t>(spec.rows) * columns);
  if (spec.has_bias) matrix.bias = AlignedBuffer<float>(static_cast<std::size_t>(spec.rows));
  const auto done = read(
      spec,
      [&](int first_row, int, std::span<const float> weights) {
        std::copy(weights.begin(), weights.end(),
                  matrix.values.data() + static_cast<std::size_t>(first_row) * columns);
      },
      [&](int first_row, std::span<const float> bias) {
        std::copy(bias.begin(), bias.end(), matrix.bias.data() + first_row);
      });
  if (!done) return tl::unexpected(done.error());
  return matrix;
}

Result<void> LinearPacker::read(const LinearSpec& spec, RowSink weights, BiasSink bias) const {
  int first_row = 0;
  for (const std::string& tensor : spec.tensors) {
    const auto shape = source_.shape(tensor + ".weight");
    if (!shape) return tl::unexpected(shape.error());
    if (shape->columns != spec.columns || shape->rows > spec.rows - first_row) {
      return fail(ErrorCode::kBadFile,
                  "tensor " + tensor + ".weight does not fit layer " + spec.name + ": wrong shape");
    }
    const int num_rows = static_cast<int>(shape->rows);
    if (auto done = read_tensor(tensor, first_row, num_rows, spec.columns, weights); !done) {
      return done;
    }
    if (spec.has_bias) {
      std::vector<float> values(static_cast<std::size_t>(num_rows));
      if (auto done = source_.read_rows(tensor + ".bias", 0, 1, values); !done) return done;
      bias(first_row, values);
    }
    first_row += num_rows;
  }
  if (first_row != spec.rows) {
    return fail(ErrorCode::kBadFile, "layer " + spec.name + " has " + std::to_string(first_row) +
                                         " rows, expected " + std::to_string(spec.rows));
  }
  return {};
}

/// Hands all rows of one tensor to the sink, `first_row` being the first one's place in the layer.
Result<void> LinearPacker::read_tensor(const std::string& tensor, int first_row, int num_rows,
                                       int columns, RowSink weights) const {
  const std::string name = tensor + ".weight";
  std::mutex mutex;
  std::optional<Error> error;
  std::vector<std::vector<float>> scratch(static_cast<std::size_t>(team_.num_threads()));
  for (int start = 0; start < num_rows; start += kRowsPerReport) {
    const int end = std::min(start + kRowsPerReport, num_rows);
    const int num_tasks = (end - start + kRowsPerTask - 1) / kRowsPerTask;
    team_.parallel_for(num_tasks, [&](int task, int worker) {
      const int first = start + task * kRowsPerTask;
      const int count = std::min(kRowsPerTask, end - first);
      std::vector<float>& rows = scratch[static_cast<std::size_t>(worker)];
      rows.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(columns));
      if (auto done = source_.read_rows(name, first, count, rows); !done) {
        const std::lock_guard lock(mutex);
        error = std::move(done.error());
        return;
      }
      weights(first_row + first, count, rows);
    });
    if (error) return tl::unexpected(std::move(*error));
    on_rows_(static_cast<std::uint64_t>(end - start) * static_cast<std::uint64_t>(columns));
  }
  return {};
}

}  // namespace paceline
