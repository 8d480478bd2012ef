#include "model/weights.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace paceline {

int LinearWeights::rows() const {
  return quantized() != nullptr ? quantized()->rows() : floats()->rows;
}

int LinearWeights::columns() const {
  return quantized() != nullptr ? quantized()->columns() : floats()->columns;
}

std::size_t LinearWeights::size_bytes() const {
  if (quantized() != nullptr) return quantized()->size_bytes();
  return floats()->values.size_bytes() + floats()->bias.size_bytes();
}

std::span<const float> LinearWeights::bias() const {
  return quantized() != nullptr ? quantized()->parts().bias : floats()->bias.span();
}

void LinearWeights::read_row(const KernelTable& kernels, int row, std::span<float> out) const {
  if (quantized() != nullptr) return quantized()->dequantize_row(kernels, row, out);
  DCHECK(row >= 0 && row < rows() && out.size() == static_cast<std::size_t>(columns()));
  const auto columns = static_cast<std::size_t>(floats()->columns);
  std::copy_n(floats()->values.data() + static_cast<std::size_t>(row) * columns, columns,
              out.begin());
}

std::size_t Weights::size_bytes() const {
  std::size_t bytes = head.size_bytes() + (embedding ? embedding->size_bytes() : 0);
  for (const LayerWeights& layer : layers) {
    bytes += layer.qkv.size_bytes() + layer.attention_output.size_bytes() +
             layer.gate_up.size_bytes() + layer.down.size_bytes();
  }
  return bytes;
}

std::vector<float> Weights::max_key_bias(const ModelConfig& config) const {
  const auto first = static_cast<std::size_t>(config.n_heads * config.head_dim);
  const auto count = static_cast<std::size_t>(config.n_kv_heads * config.head_dim);
  std::vector<float> result;
  result.reserve(layers.size());
  for (const LayerWeights& layer : layers) {
    float largest = 0;
    for (const float b : layer.qkv.bias().subspan(first, count)) {
      largest = std::max(largest, std::fabs(b));
    }
    result.push_back(largest);
  }
  return result;
}

}  // namespace paceline
