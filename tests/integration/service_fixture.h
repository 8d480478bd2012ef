#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/logging.h"
#include "chat/chat_template.h"
#include "engine/engine.h"
#include "http/server.h"
#include "http/service_state.h"
#include "metrics/engine_metrics.h"
#include "metrics/http_metrics.h"
#include "metrics/registry.h"
#include "scheduler/scheduler_options.h"
#include "tests/support/scripted_model_runner.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// The whole service on a free port: real server, engine, scheduler, tokenizer (tiny vocabulary)
/// and chat template over a scripted model called `tiny`, alias `small`. Unless a script says
/// otherwise the model writes letters without end.
class ServiceFixture {
 public:
  struct Options {
    HttpOptions http = {};
    SchedulerOptions scheduler = {};
    EngineOptions engine = {};
    bool is_loaded = true;  ///< false: call load()
  };

  ServiceFixture();
  explicit ServiceFixture(Options options);
  ~ServiceFixture();

  void load();
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] HttpServer& server() { return *server_; }
  [[nodiscard]] ServiceState& service() { return service_; }
  [[nodiscard]] ScriptedModelRunner& runner() { return *runner_; }
  [[nodiscard]] Engine& engine() { return *engine_; }

  /// Ids of a conversation of one user message, default system text included.
  [[nodiscard]] std::vector<TokenId> chat_prompt(std::string_view content) const;
  /// Makes the model answer a user message with a text, then end.
  void script_chat(std::string_view content, std::string_view answer);

  /// Value of one series as /metrics shows it, labels included; 0 when there is none.
  [[nodiscard]] double metric(std::string_view series) const;
  /// Sum of all series of a family whose labels hold `part`.
  [[nodiscard]] double metric_sum(std::string_view family, std::string_view part = "") const;
  /// Waits until a condition holds; false after ten seconds.
  [[nodiscard]] static bool eventually(const std::function<bool()>& condition);
  /// Waits until nothing runs or waits and no KV block is held.
  [[nodiscard]] bool comes_to_rest() const;
  [[nodiscard]] std::vector<std::string> log_lines();

 private:
  Options options_;
  SteadyClock clock_;
  MetricsRegistry registry_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ChatTemplate> template_;
  EngineMetrics engine_metrics_;
  HttpMetrics http_metrics_;
  ServiceState service_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  Logger logger_;
  ScriptedModelRunner* runner_ = nullptr;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<HttpServer> server_;
};

/// Body of a chat request with one user message, greedy; `fields` is appended, comma first.
[[nodiscard]] std::string chat_body(std::string_view content, std::string_view fields = "");
/// A whole POST of it.
[[nodiscard]] std::string chat_request(std::string_view content, std::string_view fields = "");
/// Text between `"content":"` and the next quote of every event that has one.
[[nodiscard]] std::string joined_content(const std::vector<std::string>& events);

}  // namespace paceline
