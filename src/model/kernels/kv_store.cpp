#include "model/kernels/kv_store.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace paceline {
namespace {

/// Where element d of a head is, in elements: K interleaves kBundle dimensions of all positions, V
/// kBundle positions of all dimensions (kv_group_layout.h). A bundle fills the 32 bits that one
/// step of the dot instructions takes.
struct KeyPlace {
  int slot;
  template <int kBundle>
  [[nodiscard]] int at(int d) const {
    return (d / kBundle * kKvGroupSize + slot) * kBundle + d % kBundle;
  }
};
struct ValuePlace {
  int slot;
  int padded_dim;
  template <int kBundle>
  [[nodiscard]] int at(int d) const {
    return (slot / kBundle * padded_dim + d) * kBundle + slot % kBundle;
  }
};

std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

template <typename T>
void put(std::byte* base, int index, T value) {
  std::memcpy(base + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

/// `offset` is added to the int8 values (K is stored as u8).
template <typename Place>
void store(const AttentionKernels& kernels, KvElement element, const float* x, int dim, int slot,
           std::uint8_t offset, Place place, std::byte* data, std::byte* scales) {
  switch (element) {
    case KvElement::kInt8: {
      std::array<std::int8_t, kMaxHeadDim> quants;
      put(scales, slot, kernels.quantize_head(x, dim, quants.data()));
      for (int d = 0; d < dim; ++d) {
        const auto byte = static_cast<std::uint8_t>(quants[static_cast<std::size_t>(d)]);
        put(data, place.template at<4>(d), static_cast<std::uint8_t>(byte + offset));
      }
      return;
    }
    case KvElement::kBf16:
      for (int d = 0; d < dim; ++d) put(data, place.template at<2>(d), to_bf16(x[d]));
      return;
    case KvElement::kF32:
      for (int d = 0; d < dim; ++d) put(data, place.template at<1>(d), x[d]);
      return;
  }
}

}  // namespace

void store_key_value(const AttentionKernels& kernels, const KvGroupLayout& layout, std::byte* group,
                     int slot, const float* key, const float* value) {
  DCHECK(slot >= 0 && slot < kKvGroupSize && layout.head_dim <= kMaxHeadDim);
  store(kernels, layout.key, key, layout.head_dim, slot, 128, KeyPlace{.slot = slot}, group,
        group + layout.key_scales_offset);
  store(kernels, layout.value, value, layout.head_dim, slot, 0,
        ValuePlace{.slot = slot, .padded_dim = layout.padded_dim}, group + layout.value_offset,
        group + layout.value_scales_offset);
}

}  // namespace paceline
