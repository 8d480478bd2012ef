#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/config_value.h"

namespace paceline {

/// One key of the configuration: its place in Config, bounds and meaning. The table of all keys
/// drives the TOML file, environment variables, flags and config/README.md alike.
struct ConfigKey {
  std::string name;  ///< `http.port`
  ConfigType type = ConfigType::kString;
  std::string bounds;       ///< for people: `1 … 65535`; empty when any value will do
  std::string description;  ///< meaning, unit, effect of changing it
  /// Stores a value of `type` after checking the bounds. Errors: kBadConfig with what was expected.
  std::function<Result<void>(Config&, const ConfigValue&)> set;
  std::function<ConfigValue(const Config&)> get;
};

/// All keys, in the order of config/README.md.
[[nodiscard]] std::span<const ConfigKey> config_keys();

/// Returns the key of that name, or null.
[[nodiscard]] const ConfigKey* find_config_key(std::string_view name);

/// Returns the environment variable of a key: `http.port` → `PACELINE_HTTP_PORT`.
[[nodiscard]] std::string environment_name(std::string_view key);

}  // namespace paceline
