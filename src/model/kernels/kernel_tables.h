#pragma once

#include "model/kernels/elementwise.h"
#include "model/kernels/kernels.h"

namespace paceline {

/// The tables behind kernels_for, one per source file of this folder. Call those of an instruction
/// set only when it is available.
[[nodiscard]] const KernelTable& scalar_kernels();
#if defined(__x86_64__)
[[nodiscard]] const KernelTable& avx2_kernels();
[[nodiscard]] const KernelTable& avx512_vnni_kernels();
[[nodiscard]] const KernelTable& amx_int8_kernels();
#endif

/// Returns a table with the elementwise kernels over `Lanes`.
template <typename Lanes>
KernelTable make_kernel_table(Isa isa, int linear_gmacs,
                              void (*linear_int8)(const LinearArgs&, int, int)) {
  using Kernels = Elementwise<Lanes>;
  return {isa,           linear_gmacs,      Kernels::rms_norm,     Kernels::add, Kernels::swiglu,
          Kernels::rope, Kernels::hadamard, Kernels::quantize_row, linear_int8};
}

/// Rows of one activation block, as QuantizedRows lays them out, for the linear kernels. `Lanes`
/// keeps the instruction sets' instances apart.
template <typename Lanes>
struct ActivationBlock {
  const std::uint8_t* data;  ///< first K tile of the block
  int first_row;
  int height;               ///< 1 … 16
  std::size_t tile_stride;  ///< bytes from one K tile to the next: height · 64

  static ActivationBlock of(const LinearArgs& args, int first_row) {
    const int rest = args.num_rows - first_row;
    const int height = rest < 16 ? rest : 16;
    const std::size_t offset =
        static_cast<std::size_t>(first_row) * static_cast<std::size_t>(args.num_k_tiles) * 64;
    return {args.activations + offset, first_row, height, static_cast<std::size_t>(height) * 64};
  }
};

}  // namespace paceline
