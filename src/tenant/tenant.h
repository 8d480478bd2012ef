#pragma once

#include <string>

#include "base/ids.h"

namespace paceline {

/// One team sharing the server. Plain data from the tenants file; index 0 is `anonymous`.
struct Tenant {
  TenantId id{};
  std::string name = {};  ///< configured id, label in metrics and logs
  double weight = 1.0;    ///< share of service under contention, 0.01 … 1000
};

}  // namespace paceline
