#pragma once

#include <optional>

#include "app/cli.h"
#include "config/config.h"

namespace paceline {

// Each returns the exit status of the process: 0, 1 for a failure at run time, 2 for a wrong
// configuration.
[[nodiscard]] int run_serve(const ServeCommand& command);
[[nodiscard]] int run_pack(const PackCommand& command);
[[nodiscard]] int run_check_config(const CheckConfigCommand& command);

/// Loads the configuration; prints warnings and, when it is wrong, every error. Empty when it is
/// wrong.
[[nodiscard]] std::optional<Config> load_config_or_report(const ConfigSources& sources);

}  // namespace paceline
