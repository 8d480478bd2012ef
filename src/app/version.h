#pragma once

#include <string>
#include <string_view>

namespace paceline {

/// Version of the project, `0.1.0`.
[[nodiscard]] std::string_view version();
/// Abbreviated commit the program was built from; `unknown` outside a repository.
[[nodiscard]] std::string_view commit();
/// `paceline 0.1.0 (commit)`.
[[nodiscard]] std::string version_text();

}  // namespace paceline
