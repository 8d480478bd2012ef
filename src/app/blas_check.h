#pragma once

#include "base/error.h"

namespace paceline {

/// Makes sure that OpenBLAS computes right before it is used. When its self-test fails, starts this
/// program once more with OPENBLAS_CORETYPE=Haswell, whose kernels every build has right; does not
/// return then. Errors: kInternalError when it fails even so.
[[nodiscard]] Result<void> ensure_blas_works();

}  // namespace paceline
