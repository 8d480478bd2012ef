#include "model/kernels/kv_group_layout.h"

#include "base/check.h"

namespace paceline {
namespace {

constexpr std::size_t kScalesBytes = kKvGroupSize * sizeof(float);

std::size_t element_bytes(KvElement element) {
  switch (element) {
    case KvElement::kInt8:
      return 1;
    case KvElement::kBf16:
      return 2;
    case KvElement::kF32:
      return 4;
  }
  return 4;
}

std::size_t scales_bytes(KvElement element) {
  return element == KvElement::kInt8 ? kScalesBytes : 0;
}

}  // namespace

KvGroupLayout::KvGroupLayout(KvElement key_element, KvElement value_element, int head_width)
    : key(key_element), value(value_element), head_dim(head_width) {
  DCHECK(head_width > 0);
  padded_dim = (head_width + 15) / 16 * 16;
  const std::size_t values = static_cast<std::size_t>(padded_dim) * kKvGroupSize;
  key_scales_offset = values * element_bytes(key);
  value_offset = key_scales_offset + scales_bytes(key);
  value_scales_offset = value_offset + values * element_bytes(value);
  bytes = value_scales_offset + scales_bytes(value);
}

}  // namespace paceline
