#include <iostream>

#include "app/commands/commands.h"
#include "config/key_table.h"

namespace paceline {

std::optional<Config> load_config_or_report(const ConfigSources& sources) {
  auto loaded = load_config(sources);
  if (!loaded) {
    for (const std::string& error : loaded.error()) std::cerr << "paceline: " << error << '\n';
    return std::nullopt;
  }
  for (const std::string& warning : loaded->warnings)
    std::cerr << "paceline: warning: " << warning << '\n';
  return std::move(loaded->config);
}

int run_check_config(const CheckConfigCommand& command) {
  if (command.print_keys) {
    std::cout << config_key_table();
    return 0;
  }
  if (!load_config_or_report(command.sources)) return 2;
  std::cout << "configuration is good\n";
  return 0;
}

}  // namespace paceline
