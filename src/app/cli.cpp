#include "app/cli.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/version.h"

namespace paceline {
namespace {

constexpr int kUsageError = 2;

/// Flags of one subcommand on their way into settings.
struct Flags {
  std::string config_file;
  std::vector<std::string> set;  ///< `key=value`
  std::vector<std::pair<std::string, std::string>> settings;
};

void add_setting_flag(CLI::App& app, Flags& flags, const std::string& flag, const std::string& key,
                      const std::string& help) {
  app.add_option_function<std::string>(
      flag, [&flags, key](const std::string& text) { flags.settings.emplace_back(key, text); },
      help);
}

void add_config_flags(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file, "Configuration file (TOML)");
  app.add_option("--set", flags.set, "Any key of the configuration: --set http.port=9000")
      ->type_name("KEY=VALUE");
}

void add_model_flags(CLI::App& app, Flags& flags) {
  add_setting_flag(app, flags, "--model", "model.path", "GGUF file or Hugging Face folder");
  add_setting_flag(app, flags, "--weights", "model.weights", "int8 or f32");
  add_setting_flag(app, flags, "--threads", "compute.threads",
                   "Compute threads; 0: all that the machine gives");
}

/// Joins the flags; nothing when a --set is not KEY=VALUE (reported then).
std::optional<ConfigSources> sources_of(Flags& flags) {
  ConfigSources sources;
  if (!flags.config_file.empty()) sources.file = flags.config_file;
  sources.environment = paceline_environment();
  for (const std::string& text : flags.set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::cerr << "paceline: --set wants KEY=VALUE, got `" << text << "`\n";
      return std::nullopt;
    }
    sources.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  // Named flags are the more specific ones and win over --set.
  sources.settings.insert(sources.settings.end(), flags.settings.begin(), flags.settings.end());
  return sources;
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Paceline: many teams share one small Qwen2.5 model on ordinary CPUs");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  Flags flags;
  CLI::App* serve = app.add_subcommand("serve", "Load a model and answer OpenAI API requests");
  add_config_flags(*serve, flags);
  add_model_flags(*serve, flags);
  add_setting_flag(*serve, flags, "--host", "http.host", "Address to listen on");
  add_setting_flag(*serve, flags, "--port", "http.port", "TCP port");

  CLI::App* pack =
      app.add_subcommand("pack", "Make the packed weights of a model, for a fast first start");
  add_config_flags(*pack, flags);
  add_model_flags(*pack, flags);

  CLI::App* check =
      app.add_subcommand("check-config", "Check a configuration and report every error");
  add_config_flags(*check, flags);
  bool print_keys = false;
  check->add_flag("--keys", print_keys, "Print the table of all keys");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ExitCommand{app.exit(error) == 0 ? 0 : kUsageError};
  }
  auto sources = sources_of(flags);
  if (!sources) return ExitCommand{kUsageError};
  if (serve->parsed()) return ServeCommand{std::move(*sources)};
  if (pack->parsed()) return PackCommand{std::move(*sources)};
  return CheckConfigCommand{std::move(*sources), print_keys};
}

}  // namespace paceline
