#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace paceline {

/// Where values come from; a later source wins: file, environment, settings.
struct ConfigSources {
  std::optional<std::string> file;  ///< path of a TOML file
  std::vector<std::pair<std::string, std::string>>
      environment;  ///< variables whose name begins with PACELINE_
  std::vector<std::pair<std::string, std::string>> settings;  ///< flags and --set, as (key, text)
};

struct LoadedConfig {
  Config config;
  std::vector<std::string>
      warnings;  ///< one line each, such as an environment variable that names no key
};

/// Reads all sources and checks the whole. The failure branch holds every error found, one line
/// each, with file, line and key (or the variable or flag).
[[nodiscard]] tl::expected<LoadedConfig, std::vector<std::string>> load_config(
    const ConfigSources& sources);

/// Returns this process's variables that begin with PACELINE_.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> paceline_environment();

}  // namespace paceline
