#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

/// Rewrites a JSON document as Python's `json.dumps(json.loads(text), ensure_ascii=False)` does,
/// the form in which the models saw JSON: `, ` and `: ` between items, characters not escaped
/// where they need not be, floats as their shortest decimal. Repeated keys are kept, and numbers
/// that no double can hold stay as they are written.
/// Returns nothing when `text` is not one JSON value or has half of a surrogate pair.
/// Requires: is_valid_utf8(text).
[[nodiscard]] std::optional<std::string> to_python_json(std::string_view text);

/// Writes `text` as a JSON string, with quotes, as Python does.
[[nodiscard]] std::string to_json_string(std::string_view text);

}  // namespace paceline
