#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace paceline {

/// Returns `fp_` + 12 hex digits over the parts: what decides the text of an answer besides the
/// request (API.md §3.3, `system_fingerprint`).
[[nodiscard]] std::string system_fingerprint(std::initializer_list<std::string_view> parts);

}  // namespace paceline
