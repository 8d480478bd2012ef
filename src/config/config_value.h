#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace paceline {

/// A value of the configuration, whichever source it comes from.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

enum class ConfigType { kBool, kInteger, kNumber, kString, kStringList };

/// Name of a type for messages and tables: `integer`, `list of strings`, ….
[[nodiscard]] std::string_view to_string(ConfigType type);

/// Reads a value from text, as flags and environment variables give it; lists are separated by
/// commas, an empty text is an empty list. Errors: kBadConfig saying what was expected.
[[nodiscard]] Result<ConfigValue> parse_config_value(ConfigType type, std::string_view text);

/// Writes a value as TOML does.
[[nodiscard]] std::string to_toml(const ConfigValue& value);

}  // namespace paceline
