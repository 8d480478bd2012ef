#include "base/logging.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"

namespace paceline {
namespace {

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
    case LogLevel::kOff:
      return "error";
  }
  return "error";
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string json_string(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

/// RFC 3339 with milliseconds, UTC.
std::string timestamp() {
  using std::chrono::system_clock;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(system_clock::now());
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32];
  std::strftime(date, sizeof date, "%FT%T", &utc);
  char text[48];
  std::snprintf(text, sizeof text, "%s.%03dZ", date,
                static_cast<int>(now.time_since_epoch().count() % 1000));
  return text;
}

/// Hands lines to a function, one at a time.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> function)
      : function_(std::move(function)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    function_(std::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  std::function<void(std::string_view)> function_;
};

spdlog::sink_ptr make_sink(const LogOptions& options) {
  if (options.file.empty()) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
  } catch (const spdlog::spdlog_ex& error) {
    throw std::runtime_error("log.file: " + std::string(error.what()));
  }
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return std::nullopt;
}

LogRecord::LogRecord(LogLevel level, std::string_view event) : level_(level), event_(event) {}

void LogRecord::append_key(std::string_view key) {
  fields_.append(",").append(json_string(key)).append(":");
}

LogRecord& LogRecord::add(std::string_view key, std::string_view value) {
  append_key(key);
  fields_ += json_string(is_valid_utf8(value) ? std::string(value) : to_lossy_utf8(value));
  return *this;
}

LogRecord& LogRecord::add(std::string_view key, std::int64_t value) {
  append_key(key);
  fields_ += std::to_string(value);
  return *this;
}

LogRecord& LogRecord::add(std::string_view key, double value) {
  if (!std::isfinite(value)) return add(key, nullptr);
  append_key(key);
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  fields_ += text;
  return *this;
}

LogRecord& LogRecord::add(std::string_view key, bool value) {
  append_key(key);
  fields_ += value ? "true" : "false";
  return *this;
}

LogRecord& LogRecord::add(std::string_view key, std::nullptr_t) {
  append_key(key);
  fields_ += "null";
  return *this;
}

LogRecord& LogRecord::add_json(std::string_view key, std::string_view json) {
  append_key(key);
  fields_ += json;
  return *this;
}

class Logger::Impl {
 public:
  Impl(LogLevel level, spdlog::sink_ptr sink) : logger_("paceline", std::move(sink)) {
    logger_.set_pattern("%v");
    logger_.set_level(to_spdlog(level));
    logger_.flush_on(spdlog::level::debug);  // a line that is lost in a crash is the one needed
  }

  spdlog::logger& logger() { return logger_; }

 private:
  spdlog::logger logger_;
};

Logger::Logger(const LogOptions& options)
    : impl_(std::make_unique<Impl>(options.level, make_sink(options))) {}

Logger::Logger(LogLevel level, std::function<void(std::string_view line)> sink)
    : impl_(std::make_unique<Impl>(level, std::make_shared<FunctionSink>(std::move(sink)))) {}

Logger::~Logger() = default;

void Logger::write(const LogRecord& record) {
  if (!is_enabled(record.level())) return;
  std::string line = R"({"ts":")" + timestamp() + R"(","level":")";
  line.append(level_name(record.level())).append(R"(","event":)");
  line.append(json_string(record.event())).append(record.fields()).append("}");
  impl_->logger().log(to_spdlog(record.level()), spdlog::string_view_t(line.data(), line.size()));
}

void Logger::write(LogLevel level, std::string_view event, std::string_view message) {
  write(LogRecord(level, event).add("message", message));
}

bool Logger::is_enabled(LogLevel level) const {
  return impl_->logger().should_log(to_spdlog(level));
}

}  // namespace paceline
