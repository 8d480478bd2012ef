#include "model/hf_config.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/byte_reader.h"

namespace paceline {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view describe(element value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
      return "an integer";
    case element_type::DOUBLE:
      return "a fraction";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

/// Values of one JSON object by key; null counts as absent. The first value of a wrong type is kept
/// as the error, and later calls return nothing.
class JsonFields {
 public:
  JsonFields(const std::string& file, simdjson::dom::object object)
      : file_(file), object_(object) {}

  std::optional<element> find(std::string_view key) {
    element value;
    if (error_ || object_[key].get(value) != simdjson::SUCCESS || value.is_null()) {
      return std::nullopt;
    }
    return value;
  }
  std::optional<std::int64_t> integer(std::string_view key) {
    return find_as<std::int64_t>(key, "an integer");
  }
  /// A number with or without a fraction.
  std::optional<double> number(std::string_view key) { return find_as<double>(key, "a number"); }
  std::optional<bool> boolean(std::string_view key) { return find_as<bool>(key, "a boolean"); }
  std::optional<std::string_view> string(std::string_view key) {
    return find_as<std::string_view>(key, "a string");
  }
  /// An id or a list of ids, without repeats.
  std::vector<std::int32_t> ids(std::string_view key);

  void report(std::string_view key, const std::string& message) {
    if (error_) return;
    error_ = Error{ErrorCode::kBadFile, file_ + ": key " + quote_name(key) + ": " + message};
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  template <typename T>
  std::optional<T> find_as(std::string_view key, std::string_view expected) {
    const std::optional<element> value = find(key);
    if (!value) return std::nullopt;
    T typed;
    if (value->get(typed) == simdjson::SUCCESS) return typed;
    report(key, "expected " + std::string(expected) + ", found " + std::string(describe(*value)));
    return std::nullopt;
  }

  const std::string& file_;
  simdjson::dom::object object_;
  std::optional<Error> error_;
};

std::vector<std::int32_t> JsonFields::ids(std::string_view key) {
  constexpr std::size_t kMaxIds = 64;
  std::vector<element> values;
  if (const std::optional<element> value = find(key)) {
    simdjson::dom::array list;
    if (value->get(list) == simdjson::SUCCESS) {
      values.assign(list.begin(), list.end());
    } else {
      values.push_back(*value);
    }
  }
  std::vector<std::int32_t> ids;
  for (const element value : values) {
    std::int64_t id = -1;
    if (values.size() > kMaxIds || value.get(id) != simdjson::SUCCESS || id < 0 ||
        id >= ModelLimits::kMaxVocabRows) {
      report(key, "expected a token id or a list of at most 64 of them");
      return {};
    }
    const auto end_id = static_cast<std::int32_t>(id);
    if (std::ranges::find(ids, end_id) == ids.end()) ids.push_back(end_id);
  }
  return ids;
}

/// Parses a whole document that must be an object. The parser owns the object's memory.
Result<simdjson::dom::object> parse_object(simdjson::dom::parser& parser, std::string_view text,
                                           const std::string& file) {
  simdjson::dom::object object;
  const auto parsed = parser.parse(text.data(), text.size()).get(object);
  if (parsed == simdjson::SUCCESS) return object;
  return fail(ErrorCode::kBadFile,
              file + ": expected a JSON object: " + simdjson::error_message(parsed));
}

/// Returns the kind of scaling that a RoPE object names, under its new or its old key; empty when
/// it names none.
std::string_view rope_type(element rope) {
  std::string_view type;
  if (rope["rope_type"].get(type) == simdjson::SUCCESS) return type;
  if (rope["type"].get(type) == simdjson::SUCCESS) return type;
  return {};
}

/// RoPE base: a top-level key, or in newer files a member of `rope_parameters`.
std::optional<double> rope_theta(JsonFields& fields) {
  double theta = 0;
  const std::optional<element> parameters = fields.find("rope_parameters");
  if (parameters && (*parameters)["rope_theta"].get(theta) == simdjson::SUCCESS) return theta;
  return fields.number("rope_theta");
}

/// Features that change the computation and are not implemented.
void check_features(JsonFields& fields) {
  if (fields.boolean("use_sliding_window").value_or(false)) {
    fields.report("use_sliding_window", "sliding-window attention is not supported");
  }
  const std::string_view activation = fields.string("hidden_act").value_or("silu");
  if (activation != "silu") {
    fields.report("hidden_act", "expected 'silu', found " + quote_name(activation));
  }
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const std::optional<element> rope = fields.find(key);
    if (rope && rope_type(*rope) != "default") {
      fields.report(key, "RoPE scaling " + quote_name(rope_type(*rope)) + " is not supported");
    }
  }
  if (fields.find("quantization_config")) {
    fields.report("quantization_config",
                  "quantised safetensors are not supported; give the F32, F16 or BF16 weights or a "
                  "GGUF file");
  }
}

ConfigFields read_fields(JsonFields& fields, const std::string& file) {
  const auto integer = [&](const char* key) {
    return ConfigField<std::int64_t>{key, fields.integer(key)};
  };
  const auto number = [&](const char* key) { return ConfigField<double>{key, fields.number(key)}; };
  ConfigFields config;
  config.file = file;
  config.n_layers = integer("num_hidden_layers");
  config.hidden_size = integer("hidden_size");
  config.n_heads = integer("num_attention_heads");
  config.n_kv_heads = integer("num_key_value_heads");
  config.ffn_size = integer("intermediate_size");
  config.max_context = integer("max_position_embeddings");
  config.head_dims = {integer("head_dim")};
  config.rms_eps = number("rms_norm_eps");
  config.rope_theta = {"rope_theta", rope_theta(fields)};
  return config;
}

}  // namespace

Result<HfConfig> parse_hf_config(std::string_view text, const std::string& file,
                                 std::vector<std::string>& warnings) {
  simdjson::dom::parser parser;
  auto object = parse_object(parser, text, file);
  if (!object) return tl::unexpected(std::move(object.error()));
  JsonFields fields(file, *object);
  const std::string_view model_type = fields.string("model_type").value_or("");
  if (fields.error()) return tl::unexpected(*fields.error());
  if (auto checked = check_architecture(file, "model_type", model_type); !checked) {
    return tl::unexpected(std::move(checked.error()));
  }
  check_features(fields);
  const ConfigFields read = read_fields(fields, file);
  const std::int64_t vocab_size = fields.integer("vocab_size").value_or(0);
  if (vocab_size < 1 || vocab_size > ModelLimits::kMaxVocabRows) {
    fields.report("vocab_size", "expected 1 to " + std::to_string(ModelLimits::kMaxVocabRows) +
                                    ", found " + std::to_string(vocab_size));
  }
  const bool is_tied = fields.boolean("tie_word_embeddings").value_or(false);
  HfConfig result;
  result.end_ids = fields.ids("eos_token_id");
  if (fields.error()) return tl::unexpected(*fields.error());

  auto config = check_config(read, warnings);
  if (!config) return tl::unexpected(std::move(config.error()));
  result.config = std::move(*config);
  result.config.vocab_rows = static_cast<int>(vocab_size);
  result.config.tied_embeddings = is_tied;
  return result;
}

Result<std::vector<std::int32_t>> parse_hf_end_ids(std::string_view text, const std::string& file) {
  simdjson::dom::parser parser;
  auto object = parse_object(parser, text, file);
  if (!object) return tl::unexpected(std::move(object.error()));
  JsonFields fields(file, *object);
  std::vector<std::int32_t> ids = fields.ids("eos_token_id");
  if (fields.error()) return tl::unexpected(*fields.error());
  return ids;
}

Result<std::string> parse_hf_chat_template(std::string_view text, const std::string& file) {
  constexpr std::string_view kKey = "chat_template";
  simdjson::dom::parser parser;
  auto object = parse_object(parser, text, file);
  if (!object) return tl::unexpected(std::move(object.error()));
  JsonFields fields(file, *object);
  const std::optional<element> value = fields.find(kKey);
  simdjson::dom::array list;
  if (!value || value->get(list) != simdjson::SUCCESS) {
    const std::string chat_template(fields.string(kKey).value_or(""));
    if (fields.error()) return tl::unexpected(*fields.error());
    return chat_template;
  }
  for (const element item : list) {
    std::string_view name;
    std::string_view chat_template;
    if (item["name"].get(name) == simdjson::SUCCESS && name == "default" &&
        item["template"].get(chat_template) == simdjson::SUCCESS) {
      return std::string(chat_template);
    }
  }
  fields.report(kKey, "expected a text or a list with one named 'default'");
  return tl::unexpected(*fields.error());
}

}  // namespace paceline
