#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// Strict reader of the Prometheus text format 0.0.4, for tests: everything the format forbids and
/// everything API.md §9 asks beyond it becomes a line in `errors`.
struct Exposition {
  struct Family {
    std::string type;
    std::string help;
    /// Label text as written (`a="b",c="d"`) by sample name → value.
    std::map<std::string, std::map<std::string, double>> samples;
  };
  std::map<std::string, Family> families;
  std::vector<std::string> errors;

  /// Value of a series, such as `x_bucket{le="1"}` or `x`; NaN when it does not exist.
  [[nodiscard]] double value(std::string_view series) const;
};

[[nodiscard]] Exposition parse_exposition(std::string_view text);

}  // namespace paceline
