#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

/// Returns the level called `name` (`debug`, `info`, `warn`, `error`, `off`), or nothing.
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view name);

struct LogOptions {
  /// Events below it are dropped (`log.level`).
  LogLevel level = LogLevel::kInfo;
  /// File that lines are appended to; empty: standard error (`log.file`).
  std::string file = {};
};

/// One event: a JSON object on one line, `ts`, `level` and `event` first. Values are escaped; bytes
/// that are not UTF-8 become U+FFFD. Built and logged on one thread.
class LogRecord {
 public:
  LogRecord(LogLevel level, std::string_view event);

  LogRecord& add(std::string_view key, std::string_view value);
  LogRecord& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  LogRecord& add(std::string_view key, std::int64_t value);
  LogRecord& add(std::string_view key, int value) {
    return add(key, static_cast<std::int64_t>(value));
  }
  /// Not finite: null.
  LogRecord& add(std::string_view key, double value);
  LogRecord& add(std::string_view key, bool value);
  LogRecord& add(std::string_view key, std::nullptr_t);
  /// Absent: null.
  template <typename T>
  LogRecord& add(std::string_view key, const std::optional<T>& value) {
    return value ? add(key, *value) : add(key, nullptr);
  }
  /// `json` is a complete JSON value on one line.
  LogRecord& add_json(std::string_view key, std::string_view json);

  [[nodiscard]] LogLevel level() const { return level_; }
  [[nodiscard]] std::string_view event() const { return event_; }
  /// The fields after `ts`, `level` and `event`, each with a comma in front.
  [[nodiscard]] const std::string& fields() const { return fields_; }

 private:
  void append_key(std::string_view key);

  LogLevel level_;
  std::string event_;
  std::string fields_;
};

/// Writes events, one JSON object per line (API.md §10). Owned by the app, passed to whoever logs.
/// Any thread; a line is never torn.
class Logger {
 public:
  /// Throws std::runtime_error when the file cannot be opened.
  explicit Logger(const LogOptions& options);
  /// Gives each line, without its end, to `sink` instead; `sink` may be called by any thread, one
  /// at a time.
  Logger(LogLevel level, std::function<void(std::string_view line)> sink);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void write(const LogRecord& record);
  /// An event that needs no fields but `message`.
  void write(LogLevel level, std::string_view event, std::string_view message);
  [[nodiscard]] bool is_enabled(LogLevel level) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paceline
