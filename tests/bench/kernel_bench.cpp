// Speed of the kernels on the shapes of Qwen2.5-0.5B. Linear layers run over the weights of the
// whole model, so that they come from memory as they do in a step. Arguments: instruction set,
// rows, threads. Counters: multiply-adds and weight bytes per second; compare with tools that
// measure the machine's peaks in the same hour.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "model/kernels/kernels.h"
#include "model/linear.h"
#include "model/quantized_matrix.h"
#include "model/quantized_rows.h"

namespace paceline {
namespace {

constexpr int kLayers = 24;
constexpr int kHidden = 896;
constexpr int kQkv = 1152;
constexpr int kFfn = 4864;
constexpr int kVocab = 151936;
constexpr int kMaxRows = 512;

std::vector<float> noise(std::size_t size) {
  std::vector<float> values(size);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5F;
  }
  return values;
}

QuantizedMatrix random_matrix(int rows, int columns, bool has_bias) {
  QuantizedMatrix matrix = QuantizedMatrix::allocate(rows, columns, has_bias);
  const std::vector<float> row = noise(static_cast<std::size_t>(columns));
  const KernelTable& kernels = kernels_for(detect_isa());
  for (int i = 0; i < rows; ++i) matrix.pack_rows(kernels, i, 1, row);
  return matrix;
}

struct Layer {
  QuantizedMatrix qkv = random_matrix(kQkv, kHidden, true);
  QuantizedMatrix output = random_matrix(kHidden, kHidden, false);
  QuantizedMatrix gate_up = random_matrix(2 * kFfn, kHidden, false);
  QuantizedMatrix down = random_matrix(kHidden, kFfn, false);

  [[nodiscard]] std::size_t size_bytes() const {
    return qkv.size_bytes() + output.size_bytes() + gate_up.size_bytes() + down.size_bytes();
  }
};

struct Weights {
  std::vector<Layer> layers = std::vector<Layer>(kLayers);
  QuantizedMatrix head = random_matrix(kVocab, kHidden, false);
};

const Weights& weights() {
  static const Weights instance;
  return instance;
}

QuantizedRows random_rows(const KernelTable& kernels, int num_rows, int columns) {
  QuantizedRows rows(num_rows, columns);
  rows.reset(num_rows, columns);
  for (int row = 0; row < num_rows; ++row) {
    std::vector<float> x = noise(static_cast<std::size_t>(columns));
    rows.quantize_row(kernels, row, x.data());
  }
  return rows;
}

/// Labels the benchmark with its instruction set; returns false when the processor lacks it.
bool check_isa(benchmark::State& state, Isa isa) {
  state.SetLabel(std::string(to_string(isa)));
  if (is_available(isa)) return true;
  state.SkipWithError("instruction set is not available");
  return false;
}

void set_rates(benchmark::State& state, double bytes, double macs) {
  const auto n = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(n * bytes / 1e9, benchmark::Counter::kIsRate);
  state.counters["GMAC/s"] = benchmark::Counter(n * macs / 1e9, benchmark::Counter::kIsRate);
}

/// All linear layers of one step, with the head for every row or without it.
void run_layers(benchmark::State& state, bool with_head) {
  const auto isa = static_cast<Isa>(state.range(0));
  const int num_rows = static_cast<int>(state.range(1));
  if (!check_isa(state, isa)) return;
  const KernelTable& kernels = kernels_for(isa);
  ThreadPool team(static_cast<int>(state.range(2)));
  const QuantizedRows narrow = random_rows(kernels, num_rows, kHidden);
  const QuantizedRows wide = random_rows(kernels, num_rows, kFfn);
  const std::size_t ldy = with_head ? kVocab : 2 * kFfn;
  AlignedBuffer<float> y(static_cast<std::size_t>(num_rows) * ldy, kHugePageBytes);
  double bytes = with_head ? static_cast<double>(weights().head.size_bytes()) : 0.0;
  for (const Layer& layer : weights().layers) bytes += static_cast<double>(layer.size_bytes());
  for (auto _ : state) {
    for (const Layer& layer : weights().layers) {
      linear_int8(team, kernels, narrow, layer.qkv, y.data(), kQkv);
      linear_int8(team, kernels, narrow, layer.output, y.data(), kHidden);
      linear_int8(team, kernels, narrow, layer.gate_up, y.data(), std::size_t{2} * kFfn);
      linear_int8(team, kernels, wide, layer.down, y.data(), kHidden);
    }
    if (with_head) linear_int8(team, kernels, narrow, weights().head, y.data(), kVocab);
  }
  set_rates(state, bytes, bytes * num_rows);
}

void BM_LayersAndHead(benchmark::State& state) { run_layers(state, true); }
void BM_Layers(benchmark::State& state) { run_layers(state, false); }

void step_arguments(benchmark::internal::Benchmark* b, const std::vector<int>& row_counts) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAmxInt8}) {
    for (const int rows : row_counts) {
      for (const int threads : {1, 2}) b->Args({static_cast<int>(isa), rows, threads});
    }
  }
  b->UseRealTime()->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
}
BENCHMARK(BM_LayersAndHead)->Apply([](benchmark::internal::Benchmark* b) {
  step_arguments(b, {1, 2, 4, 8, 16, 32, 64});
});
BENCHMARK(BM_Layers)->Apply([](benchmark::internal::Benchmark* b) {
  step_arguments(b, {32, 128, kMaxRows});
});

/// What one row costs outside the products: arguments are the instruction set and the width.
template <typename Body>
void run_rows(benchmark::State& state, Body body) {
  const auto isa = static_cast<Isa>(state.range(0));
  if (!check_isa(state, isa)) return;
  const int n = static_cast<int>(state.range(1));
  for (auto _ : state) body(kernels_for(isa), n);
  state.SetItemsProcessed(state.iterations() * n);
}

void BM_RmsNorm(benchmark::State& state) {
  const auto x = noise(static_cast<std::size_t>(state.range(1)));
  std::vector<float> y(x.size());
  run_rows(state, [&](const KernelTable& kernels, int n) {
    kernels.rms_norm(x.data(), x.data(), n, 1e-6F, y.data());
    benchmark::ClobberMemory();
  });
}
void BM_SwiGlu(benchmark::State& state) {
  const auto x = noise(static_cast<std::size_t>(state.range(1)));
  std::vector<float> y(x.size());
  run_rows(state, [&](const KernelTable& kernels, int n) {
    kernels.swiglu(x.data(), x.data(), n, y.data());
    benchmark::ClobberMemory();
  });
}
void BM_QuantizeRow(benchmark::State& state) {
  const auto x = noise(static_cast<std::size_t>(state.range(1)));
  std::vector<float> copy(x.size());
  std::vector<std::uint8_t> q(x.size() + 64);
  run_rows(state, [&](const KernelTable& kernels, int n) {
    copy = x;  // the rotation is in place and would grow without end
    benchmark::DoNotOptimize(kernels.quantize_row(copy.data(), n, 128, q.data(), 64));
  });
}

void row_arguments(benchmark::internal::Benchmark* b) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni}) {
    for (const int n : {kHidden, kFfn}) b->Args({static_cast<int>(isa), n});
  }
}
BENCHMARK(BM_RmsNorm)->Apply(row_arguments);
BENCHMARK(BM_SwiGlu)->Apply(row_arguments);
BENCHMARK(BM_QuantizeRow)->Apply(row_arguments);

/// Cost of one fork and join of the team with nothing to do.
void BM_ForkJoin(benchmark::State& state) {
  ThreadPool team(static_cast<int>(state.range(0)));
  for (auto _ : state) team.parallel_for(static_cast<int>(state.range(1)), [](int, int) {});
}
BENCHMARK(BM_ForkJoin)->Args({2, 2})->Args({2, 16})->UseRealTime();

}  // namespace
}  // namespace paceline

BENCHMARK_MAIN();
