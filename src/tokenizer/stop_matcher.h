#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// Looks for stop strings in a text that comes in pieces. Text that may be the beginning of a stop
/// string is held back until that is decided, other text is let through at once. The first stop
/// string to be complete wins, of several that end together the longest; so where the text is cut
/// does not depend on the pieces. Owned by the sequence's output; one thread.
class StopMatcher {
 public:
  /// Requires: no stop string is empty.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Adds text and returns what can be shown. After a match nothing more is shown: the stop string
  /// and what follows it are dropped.
  [[nodiscard]] std::string append(std::string_view text);

  /// Ends the text: returns what was held back, nothing after a match.
  [[nodiscard]] std::string flush();

  /// Index of the stop string that was found.
  [[nodiscard]] std::optional<std::size_t> matched() const { return matched_; }

 private:
  struct Stop {
    std::string text;
    std::vector<std::size_t> borders;  // [i]: longest proper border of the first i + 1 bytes
    std::size_t num_matched = 0;       // longest prefix that the text ends with; bytes

    void advance(char c);
    [[nodiscard]] bool is_complete() const { return num_matched == text.size(); }
  };

  std::vector<Stop> stops_;
  std::string held_;
  std::optional<std::size_t> matched_;
};

}  // namespace paceline
