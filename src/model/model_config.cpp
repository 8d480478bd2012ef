#include "model/model_config.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "model/byte_reader.h"

namespace paceline {
namespace {

std::string format_number(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Reports the first field that is wrong; later checks are skipped.
class ConfigChecker {
 public:
  explicit ConfigChecker(const std::string& file) : file_(file) {}

  /// Returns the field's value when it is 1 … max, else 1.
  int positive(const ConfigField<std::int64_t>& field, std::int64_t max) {
    if (!field.value) {
      report(field.key, "is missing");
    } else if (*field.value < 1 || *field.value > max) {
      report(field.key,
             "expected 1 to " + std::to_string(max) + ", found " + std::to_string(*field.value));
    } else {
      return static_cast<int>(*field.value);
    }
    return 1;
  }

  /// Returns the field's value when min <= value <= max (not NaN), the fallback when absent.
  float number(const ConfigField<double>& field, double min, double max, float fallback,
               std::vector<std::string>& warnings) {
    if (!field.value) {
      warnings.push_back(file_ + ": key " + quote_name(field.key) + " is missing, " +
                         format_number(static_cast<double>(fallback)) + " is used");
      return fallback;
    }
    const bool is_valid = *field.value >= min && *field.value <= max;
    require(is_valid, field.key,
            "expected " + format_number(min) + " to " + format_number(max) + ", found " +
                format_number(*field.value));
    return is_valid ? static_cast<float>(*field.value) : fallback;
  }

  void require(bool condition, const std::string& key, const std::string& message) {
    if (!condition) report(key, message);
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void report(const std::string& key, const std::string& message) {
    if (error_) return;
    error_ = Error{ErrorCode::kBadFile, file_ + ": key " + quote_name(key) + ": " + message};
  }

  const std::string& file_;
  std::optional<Error> error_;
};

}  // namespace

Result<ModelConfig> check_config(const ConfigFields& fields, std::vector<std::string>& warnings) {
  ConfigChecker checker(fields.file);
  ModelConfig config;
  config.n_layers = checker.positive(fields.n_layers, ModelLimits::kMaxLayers);
  config.hidden_size = checker.positive(fields.hidden_size, ModelLimits::kMaxHiddenSize);
  config.n_heads = checker.positive(fields.n_heads, ModelLimits::kMaxHeads);
  config.n_kv_heads = checker.positive(fields.n_kv_heads, ModelLimits::kMaxHeads);
  config.ffn_size = checker.positive(fields.ffn_size, ModelLimits::kMaxFfnSize);
  config.max_context = checker.positive(fields.max_context, ModelLimits::kMaxContext);
  config.rms_eps = checker.number(fields.rms_eps, 1e-12, 1.0, config.rms_eps, warnings);
  config.rope_theta = checker.number(fields.rope_theta, 1.0, 1e12, config.rope_theta, warnings);
  if (checker.error()) return tl::unexpected(*checker.error());

  const std::string heads = std::to_string(config.n_heads);
  checker.require(config.n_heads % config.n_kv_heads == 0, fields.n_kv_heads.key,
                  "expected a divisor of " + heads + " (" + fields.n_heads.key + "), found " +
                      std::to_string(config.n_kv_heads));
  checker.require(config.hidden_size % (2 * config.n_heads) == 0, fields.hidden_size.key,
                  "expected an even multiple of " + heads + " (" + fields.n_heads.key +
                      "), found " + std::to_string(config.hidden_size));
  config.head_dim = config.hidden_size / config.n_heads;
  for (const ConfigField<std::int64_t>& field : fields.head_dims) {
    checker.require(!field.value || *field.value == config.head_dim, field.key,
                    "expected " + std::to_string(config.head_dim) + " (" + fields.hidden_size.key +
                        " / " + fields.n_heads.key + "), found " +
                        std::to_string(field.value.value_or(0)));
  }
  if (checker.error()) return tl::unexpected(*checker.error());
  return config;
}

Result<void> check_architecture(std::string_view file, std::string_view what,
                                std::string_view value) {
  if (value == "qwen2") return {};
  std::string message(file);
  if (value.empty()) {
    message += ": key " + quote_name(what) + " is missing or empty";
  } else {
    message += ": key " + quote_name(what) + ": the architecture " + quote_name(value) +
               " is not supported";
  }
  return fail(ErrorCode::kBadFile, message + "; supported: 'qwen2' (dense Qwen2 and Qwen2.5)");
}

}  // namespace paceline
