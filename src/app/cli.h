#pragma once

#include <variant>

#include "config/config_loader.h"

namespace paceline {

/// `paceline serve`: load the model and answer requests.
struct ServeCommand {
  ConfigSources sources;
};
/// `paceline pack`: make the packed weights beside the model, so that the first start is a warm
/// one.
struct PackCommand {
  ConfigSources sources;
};
/// `paceline check-config`: report every error of a configuration; with `print_keys`, print the
/// table of all keys.
struct CheckConfigCommand {
  ConfigSources sources;
  bool print_keys = false;
};
/// Nothing to run: help or version was printed, or the command line is wrong.
struct ExitCommand {
  int status = 0;
};

using Command = std::variant<ServeCommand, PackCommand, CheckConfigCommand, ExitCommand>;

/// Reads the command line; prints help, version or a usage error itself.
[[nodiscard]] Command parse_command_line(int argc, const char* const* argv);

}  // namespace paceline
