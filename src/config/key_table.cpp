#include "config/key_table.h"

#include "config/config_key.h"

namespace paceline {

std::string config_key_table() {
  const Config defaults;
  std::string table =
      "| key | default | bounds | environment | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const ConfigKey& key : config_keys()) {
    const std::string bounds = key.bounds.empty() ? std::string(to_string(key.type)) : key.bounds;
    table += "| `" + key.name + "` | `" + to_toml(key.get(defaults)) + "` | " + bounds + " | `" +
             environment_name(key.name) + "` | " + key.description + " |\n";
  }
  return table;
}

}  // namespace paceline
