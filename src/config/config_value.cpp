#include "config/config_value.h"

#include <charconv>
#include <sstream>

namespace paceline {
namespace {

template <typename Number>
Result<ConfigValue> parse_number(std::string_view text, std::string_view expected) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return fail(ErrorCode::kBadConfig,
                "expected " + std::string(expected) + ", got `" + std::string(text) + "`");
  }
  return ConfigValue(number);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    items.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return items;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

struct TomlWriter {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    std::ostringstream out;
    out << value;
    std::string text = out.str();
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string out = "[";
    for (const auto& value : values) out += (out.size() > 1 ? ", " : "") + quoted(value);
    return out + "]";
  }
};

}  // namespace

std::string_view to_string(ConfigType type) {
  switch (type) {
    case ConfigType::kBool:
      return "true or false";
    case ConfigType::kInteger:
      return "integer";
    case ConfigType::kNumber:
      return "number";
    case ConfigType::kString:
      return "string";
    case ConfigType::kStringList:
      return "list of strings";
  }
  return "value";
}

Result<ConfigValue> parse_config_value(ConfigType type, std::string_view text) {
  switch (type) {
    case ConfigType::kBool:
      if (text == "true" || text == "false") return ConfigValue(text == "true");
      return fail(ErrorCode::kBadConfig, "expected true or false, got `" + std::string(text) + "`");
    case ConfigType::kInteger:
      return parse_number<std::int64_t>(text, "an integer");
    case ConfigType::kNumber:
      return parse_number<double>(text, "a number");
    case ConfigType::kString:
      return ConfigValue(std::string(text));
    case ConfigType::kStringList:
      return ConfigValue(split_list(text));
  }
  return fail(ErrorCode::kBadConfig, "unknown type");
}

std::string to_toml(const ConfigValue& value) { return std::visit(TomlWriter{}, value); }

}  // namespace paceline
