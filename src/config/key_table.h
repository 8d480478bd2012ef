#pragma once

#include <string>

namespace paceline {

/// Returns the table of all keys as Markdown: name, default, bounds, environment variable, meaning.
/// It is the body of config/README.md; `paceline check-config --keys` prints it.
[[nodiscard]] std::string config_key_table();

}  // namespace paceline
