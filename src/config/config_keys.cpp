#include "config/config_key.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace paceline {
namespace {

using std::chrono::milliseconds;

Result<void> type_fault(ConfigType type) {
  return fail(ErrorCode::kBadConfig, "expected " + std::string(to_string(type)));
}

template <typename Number>
std::string range_text(Number low, Number high) {
  std::ostringstream out;
  out << low << " … ";
  if (high == std::numeric_limits<Number>::max()) {
    out << "no limit";
  } else {
    out << high;
  }
  return out.str();
}

template <typename Number>
Result<void> check_range(Number value, Number low, Number high) {
  if (value >= low && value <= high) return {};
  std::ostringstream got;
  got << value;
  return fail(ErrorCode::kBadConfig, "must be in " + range_text(low, high) + ", got " + got.str());
}

/// `field` is a function Config& → T&, T an integer type.
template <typename Field>
ConfigKey integer_key(std::string name, Field field, std::int64_t low, std::int64_t high,
                      std::string description) {
  ConfigKey key;
  key.name = std::move(name);
  key.type = ConfigType::kInteger;
  key.bounds = range_text(low, high);
  key.description = std::move(description);
  key.set = [field, low, high](Config& config, const ConfigValue& value) -> Result<void> {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return type_fault(ConfigType::kInteger);
    if (auto in_range = check_range(*number, low, high); !in_range) return in_range;
    auto& target = field(config);
    target = static_cast<std::remove_reference_t<decltype(target)>>(*number);
    return {};
  };
  key.get = [field](const Config& config) {
    return ConfigValue(static_cast<std::int64_t>(field(const_cast<Config&>(config))));
  };
  return key;
}

/// `field` is a function Config& → milliseconds&.
template <typename Field>
ConfigKey duration_key(std::string name, Field field, std::int64_t low, std::string description) {
  ConfigKey key;
  key.name = std::move(name);
  key.type = ConfigType::kInteger;
  constexpr std::int64_t kDayMs = 86'400'000;
  key.bounds = range_text(low, kDayMs);
  key.description = std::move(description);
  key.set = [field, low](Config& config, const ConfigValue& value) -> Result<void> {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr) return type_fault(ConfigType::kInteger);
    if (auto in_range = check_range(*number, low, kDayMs); !in_range) return in_range;
    field(config) = milliseconds(*number);
    return {};
  };
  key.get = [field](const Config& config) {
    return ConfigValue(std::int64_t{field(const_cast<Config&>(config)).count()});
  };
  return key;
}

template <typename Field>
ConfigKey number_key(std::string name, Field field, double low, double high,
                     std::string description) {
  ConfigKey key;
  key.name = std::move(name);
  key.type = ConfigType::kNumber;
  key.bounds = range_text(low, high);
  key.description = std::move(description);
  key.set = [field, low, high](Config& config, const ConfigValue& value) -> Result<void> {
    const auto* whole = std::get_if<std::int64_t>(&value);
    const auto* number = std::get_if<double>(&value);
    if (whole == nullptr && number == nullptr) return type_fault(ConfigType::kNumber);
    const double given = whole != nullptr ? static_cast<double>(*whole) : *number;
    if (auto in_range = check_range(given, low, high); !in_range) return in_range;
    field(config) = given;
    return {};
  };
  key.get = [field](const Config& config) {
    return ConfigValue(double{field(const_cast<Config&>(config))});
  };
  return key;
}

/// A key whose field has the value's own type: bool, string or list of strings.
template <typename T, typename Field>
ConfigKey plain_key(ConfigType type, std::string name, Field field, std::string description) {
  ConfigKey key;
  key.name = std::move(name);
  key.type = type;
  key.description = std::move(description);
  key.set = [field, type](Config& config, const ConfigValue& value) -> Result<void> {
    const auto* given = std::get_if<T>(&value);
    if (given == nullptr) return type_fault(type);
    field(config) = *given;
    return {};
  };
  key.get = [field](const Config& config) {
    return ConfigValue(T{field(const_cast<Config&>(config))});
  };
  return key;
}

template <typename Field>
ConfigKey bool_key(std::string name, Field field, std::string description) {
  return plain_key<bool>(ConfigType::kBool, std::move(name), field, std::move(description));
}

template <typename Field>
ConfigKey string_key(std::string name, Field field, std::string description) {
  return plain_key<std::string>(ConfigType::kString, std::move(name), field,
                                std::move(description));
}

template <typename Field>
ConfigKey list_key(std::string name, Field field, std::string description) {
  return plain_key<std::vector<std::string>>(ConfigType::kStringList, std::move(name), field,
                                             std::move(description));
}

std::string joined(const std::vector<std::string>& choices) {
  std::string text;
  for (const auto& choice : choices)
    text += (text.empty() ? "" : ", ") + (choice.empty() ? "\"\"" : choice);
  return text;
}

/// A string key that takes one of a fixed list.
template <typename Field>
ConfigKey choice_key(std::string name, Field field, std::vector<std::string> choices,
                     std::string description) {
  ConfigKey key = string_key(std::move(name), field, std::move(description));
  key.bounds = joined(choices);
  key.set = [field, choices = std::move(choices)](Config& config,
                                                  const ConfigValue& value) -> Result<void> {
    const auto* given = std::get_if<std::string>(&value);
    if (given == nullptr) return type_fault(ConfigType::kString);
    if (std::ranges::find(choices, *given) == choices.end()) {
      return fail(ErrorCode::kBadConfig,
                  "must be one of " + joined(choices) + ", got `" + *given + "`");
    }
    field(config) = *given;
    return {};
  };
  return key;
}

/// A key whose field is an enum with one name per value.
template <typename Enum, typename Field>
ConfigKey enum_key(std::string name, Field field, std::vector<std::pair<std::string, Enum>> names,
                   std::string description) {
  std::vector<std::string> choices;
  for (const auto& [text, value] : names) choices.push_back(text);
  ConfigKey key;
  key.name = std::move(name);
  key.type = ConfigType::kString;
  key.bounds = joined(choices);
  key.description = std::move(description);
  key.set = [field, names, choices](Config& config, const ConfigValue& value) -> Result<void> {
    const auto* given = std::get_if<std::string>(&value);
    if (given == nullptr) return type_fault(ConfigType::kString);
    const auto found = std::ranges::find(names, *given, &std::pair<std::string, Enum>::first);
    if (found == names.end()) {
      return fail(ErrorCode::kBadConfig,
                  "must be one of " + joined(choices) + ", got `" + *given + "`");
    }
    field(config) = found->second;
    return {};
  };
  key.get = [field, names](const Config& config) {
    const Enum value = field(const_cast<Config&>(config));
    const auto found = std::ranges::find(names, value, &std::pair<std::string, Enum>::second);
    return ConfigValue(found == names.end() ? std::string() : found->first);
  };
  return key;
}

// Reads the field of a Config; the key functions want it as a callable.
#define FIELD(path) \
  [](Config & c) -> auto& { return c.path; }

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

void add_model_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(string_key("model.path", FIELD(model.path),
                            "GGUF file (the first part of a split one) or Hugging Face folder."));
  keys.push_back(string_key("model.name", FIELD(model.name),
                            "Id under which the model is served; empty: from the file."));
  keys.push_back(list_key("model.aliases", FIELD(model.aliases),
                          "Further names that requests may use for the model."));
  keys.push_back(choice_key(
      "model.weights", FIELD(model.weights), {"int8", "f32"},
      "Form of the weights in memory: int8 is the fast one, f32 the exact reference by OpenBLAS."));
  keys.push_back(string_key("model.cache_dir", FIELD(model.cache_dir),
                            "Folder of the packed weights; empty: beside the model file. A folder "
                            "that cannot be written only "
                            "makes the start slower."));
  keys.push_back(choice_key(
      "model.chat_template", FIELD(model.chat_template), {"", "chatml"},
      "chatml serves a model whose chat template is not recognised; empty: from the file."));
  keys.push_back(integer_key(
      "model.max_context", FIELD(model.max_context), 0, kMaxInt,
      "Tokens of prompt and output together; 0, or more than the model has: the model's."));
  keys.push_back(integer_key(
      "compute.threads", FIELD(model.threads), 0, 1024,
      "Threads of the compute team; 0: the cgroup's processor quota, else all processors."));
  keys.push_back(
      choice_key("compute.isa", FIELD(model.isa), {"", "scalar", "avx2", "avx512_vnni", "amx_int8"},
                 "Instruction set of the kernels; empty: the best that the machine has."));
}

void add_kv_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer_key("kv.block_size", FIELD(scheduler.block_size), 16, 64,
                             "Tokens per KV block: 16, 32 or 64."));
  keys.push_back(integer_key("kv.blocks", FIELD(scheduler.num_blocks), 0, 100'000'000,
                             "Blocks of the KV pool; 0: as many as fit kv.memory_bytes."));
  keys.push_back(integer_key(
      "kv.memory_bytes", FIELD(model.kv_memory_bytes), 1 << 20, kNoLimit,
      "Bytes of the KV pool when kv.blocks is 0. Memory is taken as blocks are first used."));
  keys.push_back(choice_key("kv.dtype", FIELD(model.kv_dtype), {"int8", "bf16", "f32"},
                            "Type of stored keys and values; int8 keeps the keys of layers with a "
                            "large bias in bf16. With "
                            "model.weights = \"f32\" it is always f32."));
  keys.push_back(bool_key("cache.enabled", FIELD(scheduler.prefix_cache),
                          "Reuse of computed prompt blocks between requests."));
}

void add_scheduler_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer_key("scheduler.max_running", FIELD(scheduler.max_running), 1, 4096,
                             "Sequences in the batch at once."));
  keys.push_back(integer_key("scheduler.max_queued", FIELD(scheduler.max_queued), 0, 1'000'000,
                             "Accepted requests that wait; above: 503 server_overloaded."));
  keys.push_back(integer_key("scheduler.max_queued_tokens", FIELD(scheduler.max_queued_tokens), 0,
                             kNoLimit, "Prompt tokens that wait; above: 503 server_overloaded."));
  keys.push_back(integer_key(
      "scheduler.max_chunk_tokens", FIELD(scheduler.max_chunk_tokens), 16, 8192,
      "Largest part of one prompt in one step, tokens. Smaller: evener streams, slower prompts."));
  keys.push_back(number_key("scheduler.target_step_ms", FIELD(scheduler.target_step_ms), 1, 10000,
                            "Predicted duration that a step aims at, milliseconds."));
  keys.push_back(
      integer_key("scheduler.max_gap_tokens", FIELD(scheduler.max_gap_tokens), 64, kNoLimit,
                  "Largest difference of service between two tenants that wait, tokens."));
  keys.push_back(
      duration_key("scheduler.queue_timeout_ms", FIELD(http.queue_timeout), 1,
                   "A request that still waits after so long fails with queue_timeout."));
  keys.push_back(duration_key("engine.stall_ms", FIELD(engine.stall_timeout), 100,
                              "Work exists and no step for so long: /ready answers 503 stalled."));
}

void add_http_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(string_key("http.host", FIELD(http.host),
                            "Address to listen on. Without keys only a loopback address."));
  keys.push_back(
      integer_key("http.port", FIELD(http.port), 0, 65535, "TCP port; 0: the system chooses one."));
  keys.push_back(integer_key("http.io_threads", FIELD(http.io_threads), 1, 64,
                             "Threads that run connections."));
  keys.push_back(integer_key("http.worker_threads", FIELD(http.worker_threads), 1, 64,
                             "Threads that parse large bodies, render templates and tokenise."));
  keys.push_back(integer_key("http.max_body_bytes", FIELD(http.max_body_bytes), 1024,
                             std::int64_t{1} << 32,
                             "Request body, identity or chunked; above: 413."));
  keys.push_back(integer_key("http.max_request_line_bytes", FIELD(http.max_request_line_bytes), 256,
                             1 << 20, "Request line; above: 414."));
  keys.push_back(integer_key("http.max_header_bytes", FIELD(http.max_header_bytes), 1024, 1 << 24,
                             "All header lines together; above: 431."));
  keys.push_back(integer_key("http.max_headers", FIELD(http.max_headers), 8, 65536,
                             "Header lines; above: 431."));
  keys.push_back(integer_key("http.max_json_depth", FIELD(http.max_json_depth), 8, 1024,
                             "Nesting of JSON anywhere in a body; above: 400."));
  keys.push_back(
      duration_key("http.header_timeout_ms", FIELD(http.header_timeout), 100,
                   "From accept, later from the first byte, to the end of the request head."));
  keys.push_back(duration_key("http.body_idle_timeout_ms", FIELD(http.body_idle_timeout), 100,
                              "Longest pause inside a body."));
  keys.push_back(
      duration_key("http.body_timeout_ms", FIELD(http.body_timeout), 100, "A whole body."));
  keys.push_back(duration_key("http.keep_alive_timeout_ms", FIELD(http.keep_alive_timeout), 100,
                              "Idle connection between two requests."));
  keys.push_back(integer_key("http.max_connections", FIELD(http.max_connections), 1, 1'000'000,
                             "Open connections; above: 503 and close."));
  keys.push_back(integer_key(
      "http.write_buffer_bytes", FIELD(http.write_buffer_bytes), 4096, std::int64_t{1} << 32,
      "Undelivered output of one connection above which its sequences are paused."));
  keys.push_back(duration_key("http.slow_reader_timeout_ms", FIELD(http.slow_reader_timeout), 100,
                              "A reader paused for so long is disconnected."));
  keys.push_back(
      bool_key("http.strict_fields", FIELD(http.strict_fields),
               "Unknown top-level fields of a request are refused instead of reported."));
  keys.push_back(
      list_key("http.allowed_hosts", FIELD(http.allowed_hosts), "Host values served; empty: any."));
  keys.push_back(list_key("http.cors_origins", FIELD(http.cors_origins),
                          "Origins that get CORS headers; * for any; empty: none is ever sent."));
  keys.push_back(duration_key("sse.keep_alive_ms", FIELD(http.sse_keep_alive), 10,
                              "Without an event for so long, a stream gets a comment line."));
  keys.push_back(
      bool_key("ui.enabled", FIELD(http.ui_enabled), "Whether the chat page is served at /."));
  keys.push_back(enum_key<MetricsAuth>(
      "metrics.auth", FIELD(http.metrics_auth),
      {{"loopback", MetricsAuth::kLoopback},
       {"admin", MetricsAuth::kAdmin},
       {"none", MetricsAuth::kOpen}},
      "Who may read /metrics: a loopback peer without a key, an admin key only, anyone."));
  keys.push_back(duration_key("server.drain_ms", FIELD(http.drain_timeout), 0,
                              "Longest wait for accepted work at the end."));
}

void add_responses_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(integer_key("responses.max_stored", FIELD(http.responses.max_stored), 0, 1'000'000,
                             "Finished responses kept per tenant; the least recently used go."));
  keys.push_back(integer_key("responses.max_stored_bytes", FIELD(http.responses.max_stored_bytes),
                             0, std::int64_t{1} << 40,
                             "Bytes of their conversations and objects, per tenant."));
  keys.push_back(duration_key("responses.ttl_ms", FIELD(http.responses.ttl), 1,
                              "Time a response is kept after its end."));
  keys.push_back(integer_key("ws.max_message_bytes", FIELD(http.websocket.max_message_bytes), 1024,
                             std::int64_t{1} << 32, "One WebSocket message; above: close 1009."));
  keys.push_back(integer_key("ws.max_connections", FIELD(http.websocket.max_connections), 0,
                             1'000'000, "Open WebSocket connections; above: 503."));
  keys.push_back(integer_key("ws.max_pending", FIELD(http.websocket.max_pending), 0, 65536,
                             "Creates of one connection that wait for their turn."));
  keys.push_back(duration_key("ws.ping_ms", FIELD(http.websocket.ping), 100,
                              "Time between two pings of the server."));
  keys.push_back(duration_key("ws.idle_timeout_ms", FIELD(http.websocket.idle_timeout), 100,
                              "Nothing received for so long: the connection is dropped."));
  keys.push_back(duration_key("ws.max_life_ms", FIELD(http.websocket.max_life), 1000,
                              "Creates are served for so long after the handshake."));
  keys.push_back(integer_key("ws.max_errors_per_minute",
                             FIELD(http.websocket.max_errors_per_minute), 1, 1'000'000,
                             "Refused messages within a minute; above: close 1008."));
  keys.push_back(integer_key("ws.cache_responses", FIELD(http.websocket.cache_responses), 0, 65536,
                             "Finished responses a connection keeps for previous_response_id."));
  keys.push_back(integer_key("ws.cache_bytes", FIELD(http.websocket.cache_bytes), 0,
                             std::int64_t{1} << 40, "Bytes of their conversations."));
  keys.push_back(list_key("ws.allowed_origins", FIELD(http.websocket.allowed_origins),
                          "Origins that may connect, besides the server's own."));
}

void add_sampling_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(number_key("sampling.temperature", FIELD(sampling.temperature), 0, 2,
                            "Default of the request field."));
  keys.push_back(
      number_key("sampling.top_p", FIELD(sampling.top_p), 0, 1, "Default of the request field."));
  keys.push_back(integer_key("sampling.top_k", FIELD(sampling.top_k), -1, kMaxInt,
                             "Default of the request field."));
  keys.push_back(
      number_key("sampling.min_p", FIELD(sampling.min_p), 0, 1, "Default of the request field."));
  keys.push_back(number_key("sampling.repetition_penalty", FIELD(sampling.repetition_penalty), 0.01,
                            10, "Default of the request field."));
}

void add_log_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(enum_key<LogLevel>("log.level", FIELD(log.level),
                                    {{"debug", LogLevel::kDebug},
                                     {"info", LogLevel::kInfo},
                                     {"warn", LogLevel::kWarn},
                                     {"error", LogLevel::kError},
                                     {"off", LogLevel::kOff}},
                                    "Least level that is written."));
  keys.push_back(string_key("log.file", FIELD(log.file),
                            "File that log lines are appended to; empty: standard error."));
}

#undef FIELD

std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys;
  add_model_keys(keys);
  add_kv_keys(keys);
  add_scheduler_keys(keys);
  add_http_keys(keys);
  add_responses_keys(keys);
  add_sampling_keys(keys);
  add_log_keys(keys);
  return keys;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

const ConfigKey* find_config_key(std::string_view name) {
  const auto keys = config_keys();
  const auto found = std::ranges::find(keys, name, &ConfigKey::name);
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace paceline
