#include "config/config_loader.h"

#include <toml++/toml.h>
#include <unistd.h>
#include <algorithm>
#include <string_view>

#include "config/config_key.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace paceline {
namespace {

constexpr std::string_view kPrefix = "PACELINE_";
// Variables of the scripts around the program, not of the program.
constexpr std::string_view kScriptVariables[] = {"PACELINE_MODEL_DIR", "PACELINE_TEST_MODEL",
                                                 "PACELINE_BLAS_RETRY"};

/// Collects what is wrong while values go into the configuration.
class Loader {
 public:
  void set(const std::string& where, const std::string& name, const ConfigValue& value) {
    const ConfigKey* key = find_config_key(name);
    if (key == nullptr) {
      errors.push_back(where + ": unknown key `" + name + "`");
      return;
    }
    if (auto stored = key->set(loaded.config, value); !stored) {
      errors.push_back(where + ": " + name + ": " + stored.error().message);
    }
  }

  void set_text(const std::string& where, const std::string& name, std::string_view text) {
    const ConfigKey* key = find_config_key(name);
    if (key == nullptr) {
      errors.push_back(where + ": unknown key `" + name + "`");
      return;
    }
    auto value = parse_config_value(key->type, text);
    if (!value) {
      errors.push_back(where + ": " + name + ": " + value.error().message);
      return;
    }
    set(where, name, *value);
  }

  LoadedConfig loaded;
  std::vector<std::string> errors;
};

std::optional<ConfigValue> list_of_strings(const toml::array& array) {
  std::vector<std::string> items;
  for (const auto& item : array) {
    const auto text = item.value_exact<std::string>();
    if (!text) return std::nullopt;
    items.push_back(*text);
  }
  return ConfigValue(std::move(items));
}

std::optional<ConfigValue> value_of(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return ConfigValue(value->get());
  if (const auto* value = node.as_integer()) return ConfigValue(value->get());
  if (const auto* value = node.as_floating_point()) return ConfigValue(value->get());
  if (const auto* value = node.as_string()) return ConfigValue(value->get());
  if (const auto* value = node.as_array()) return list_of_strings(*value);
  return std::nullopt;
}

void load_table(const std::string& file, const toml::table& table, const std::string& prefix,
                Loader& loader) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    const std::string where = file + ":" + std::to_string(node.source().begin.line);
    if (const auto* inner = node.as_table()) {
      load_table(file, *inner, name + ".", loader);
    } else if (auto value = value_of(node)) {
      loader.set(where, name, *value);
    } else {
      loader.errors.push_back(where + ": " + name + ": this kind of value has no meaning here");
    }
  }
}

void load_file(const std::string& path, Loader& loader) {
  try {
    load_table(path, toml::parse_file(path), "", loader);
  } catch (const toml::parse_error& error) {
    loader.errors.push_back(path + ":" + std::to_string(error.source().begin.line) + ": " +
                            std::string(error.description()));
  }
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c == '.' ? '_' : static_cast<char>(std::toupper(c));
  });
  return out;
}

void load_environment(const ConfigSources& sources, Loader& loader) {
  for (const auto& [variable, text] : sources.environment) {
    if (std::ranges::find(kScriptVariables, variable) != std::end(kScriptVariables)) continue;
    const auto keys = config_keys();
    const auto key = std::ranges::find_if(
        keys, [&](const ConfigKey& k) { return environment_name(k.name) == variable; });
    if (key == keys.end()) {
      loader.loaded.warnings.push_back(variable + " names no key and has no effect");
    } else {
      loader.set_text(variable, key->name, text);
    }
  }
}

}  // namespace

std::string environment_name(std::string_view key) {
  // The two keys that people set by hand most often have short names.
  if (key == "model.path") return "PACELINE_MODEL";
  if (key == "compute.isa") return "PACELINE_ISA";
  return std::string(kPrefix) + upper(key);
}

tl::expected<LoadedConfig, std::vector<std::string>> load_config(const ConfigSources& sources) {
  Loader loader;
  if (sources.file) load_file(*sources.file, loader);
  load_environment(sources, loader);
  for (const auto& [key, text] : sources.settings) loader.set_text("--set", key, text);
  for (auto& error : check_together(loader.loaded.config))
    loader.errors.push_back(std::move(error));
  if (!loader.errors.empty()) return tl::unexpected(std::move(loader.errors));
  return std::move(loader.loaded);
}

std::vector<std::pair<std::string, std::string>> paceline_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (text.starts_with(kPrefix) && equals != std::string_view::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace paceline
