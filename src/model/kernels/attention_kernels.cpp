#include "model/kernels/attention_kernels.h"

#include "base/check.h"
#include "model/kernels/attention_tables.h"

namespace paceline {

const AttentionKernels& attention_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kScalar:
      return kAttentionScalar;
    case Isa::kAvx2:
      return kAttentionAvx2;
    case Isa::kAvx512Vnni:
    case Isa::kAmxInt8:  // its processors have AVX-512 VNNI
      return kAttentionAvx512Vnni;
  }
#endif
  CHECK(isa == Isa::kScalar);
  return kAttentionScalar;
}

}  // namespace paceline
