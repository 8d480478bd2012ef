// Reference kernels: plain C++, any processor.
#include "model/kernels/kernel_tables.h"
#include "model/kernels/scalar_lanes.h"

namespace paceline {
namespace {

using Block = ActivationBlock<ScalarLanes>;

/// Exact product of one activation row and one output's weights.
std::int32_t dot(const LinearArgs& args, const Block& block, int row, int output) {
  const std::int8_t* weights = args.weights +
                               static_cast<std::ptrdiff_t>(output / 16) * args.num_k_tiles * 1024 +
                               output % 16 * 4;
  const std::uint8_t* values = block.data + row * 64;
  std::int32_t sum = 0;
  for (int tile = 0; tile < args.num_k_tiles; ++tile) {
    for (int line = 0; line < 16; ++line) {
      for (int i = 0; i < 4; ++i) {
        sum += (values[line * 4 + i] - 128) * weights[line * 64 + i];
      }
    }
    values += block.tile_stride;
    weights += 1024;
  }
  return sum;
}

void linear_int8(const LinearArgs& args, int first_group, int last_group) {
  const int last_output = last_group * 16 < args.num_outputs ? last_group * 16 : args.num_outputs;
  for (int first_row = 0; first_row < args.num_rows; first_row += 16) {
    const Block block = Block::of(args, first_row);
    for (int r = 0; r < block.height; ++r) {
      const int row = first_row + r;
      for (int output = first_group * 16; output < last_output; ++output) {
        const auto sum = static_cast<float>(dot(args, block, r, output));
        float y = (sum * args.activation_scales[row]) * args.weight_scales[output];
        if (args.bias != nullptr) y = y + args.bias[output];
        args.y[static_cast<std::size_t>(row) * args.ldy + static_cast<std::size_t>(output)] = y;
      }
    }
  }
}

}  // namespace

const KernelTable& scalar_kernels() {
  static const KernelTable table = make_kernel_table<ScalarLanes>(Isa::kScalar, 1, linear_int8);
  return table;
}

}  // namespace paceline
