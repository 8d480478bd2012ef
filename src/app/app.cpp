#include "app/app.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <thread>

#include "app/processor_quota.h"
#include "app/version.h"
#include "metrics/exposition.h"
#include "metrics/process_metrics.h"

namespace paceline {
namespace {

using namespace std::chrono_literals;

constexpr Duration kHealthInterval = 1s;
constexpr auto kCloseGrace = 2000ms;  // for the last bytes of answers after the work is done

/// Thrown through the weights' loader when the process is asked to end meanwhile.
struct LoadCancelled {};

BuildInfo build_info(const Config& config, const OpenedModel& model, Isa isa) {
  BuildInfo info;
  info.version = version();
  info.commit = commit();
  info.compiler = __VERSION__;
  info.isa = to_string(isa);
  info.weights = config.model.weights;
  info.kv = config.model.weights == "f32" ? "f32" : config.model.kv_dtype;
  info.model_name = model.id;
  return info;
}

int num_threads(const Config& config) {
  return config.model.threads > 0 ? config.model.threads : available_processors();
}

void report(const std::string& message) { std::cerr << "paceline: " << message << std::endl; }

}  // namespace

App::App(Config config, OpenedModel model, Isa isa, const ShutdownSignals& signals)
    : config_(std::move(config)),
      opened_(std::move(model)),
      isa_(isa),
      signals_(signals),
      logger_(config_.log),
      server_metrics_(registry_, build_info(config_, opened_, isa)),
      http_metrics_(registry_, http_route_labels()),
      team_(num_threads(config_)),
      service_(clock_) {
  register_process_metrics(registry_);
  server_metrics_.threads[ThreadRole::kCompute].set(team_.num_threads());
  server_metrics_.threads[ThreadRole::kIo].set(config_.http.io_threads);
  server_metrics_.threads[ThreadRole::kTokenize].set(config_.http.worker_threads);
}

App::~App() = default;

int App::run() {
  if (auto started = start_server(); !started) {
    report(started.error().message);
    return 1;
  }
  std::thread supervisor([this] { supervise(); });
  const int signal = signals_.wait();
  end_supervisor();
  supervisor.join();
  if (loaded_.served) {
    logger_.write(LogRecord(LogLevel::kInfo, "drain").add("signal", signal));
    drain();
  }
  server_->stop(kCloseGrace);
  if (loaded_.served) loaded_.served->engine->stop();
  logger_.write(LogLevel::kInfo, "stop", "all work has ended");
  return has_failed_ ? 1 : 0;
}

Result<void> App::start_server() {
  registry_.on_scrape(
      [this] { server_metrics_.ready.set(service_.status() == ServiceStatus::kReady ? 1 : 0); });
  server_ = std::make_unique<HttpServer>(
      config_.http,
      HttpServerDependencies{service_, http_metrics_, [this] { return exposition(registry_); },
                             logger_, clock_, std::string(version()), std::string(commit())});
  auto started = server_->start();
  if (!started) return started;
  logger_.write(LogRecord(LogLevel::kInfo, "start")
                    .add("message", "listening, loading the model")
                    .add("url", server_->url())
                    .add("model", opened_.id)
                    .add("isa", to_string(isa_))
                    .add("threads", team_.num_threads()));
  std::cout << "paceline " << version() << ": listening on " << server_->url() << ", loading "
            << opened_.id << std::endl;
  return {};
}

void App::supervise() {
  if (load()) {
    watch_engine();
  } else {
    has_failed_ = true;
    signals_.notify();
  }
}

bool App::load() {
  const TimePoint begin = clock_.now();
  for (const std::string& warning : opened_.warnings)
    logger_.write(LogLevel::kWarn, "start", warning);
  try {
    const LoadContext context{
        config_, isa_,
        team_,   registry_,
        clock_,  [this](std::uint64_t done, std::uint64_t total) { show_progress(done, total); }};
    auto loaded = load_served_model(std::move(opened_), context);
    if (!loaded) {
      report(loaded.error().message);
      logger_.write(LogLevel::kError, "error", loaded.error().message);
      return false;
    }
    loaded_ = std::move(*loaded);
  } catch (const LoadCancelled&) {
    return true;
  } catch (const std::bad_alloc&) {
    report("not enough memory for the model");
    return false;
  } catch (const std::exception& error) {
    report(error.what());
    return false;
  }
  for (const std::string& warning : loaded_.warnings)
    logger_.write(LogLevel::kWarn, "start", warning);
  service_.install(loaded_.served);
  announce_ready(clock_.now() - begin);
  return true;
}

void App::show_progress(std::uint64_t done, std::uint64_t total) {
  if (wait_for_end(0s)) throw LoadCancelled();
  const int percent = total == 0 ? 100 : static_cast<int>(100 * done / total);
  if (percent / 10 == shown_percent_ / 10 && shown_percent_ >= 0) return;
  shown_percent_ = percent;
  std::cerr << "paceline: packing weights: " << percent << " %" << std::endl;
}

void App::announce_ready(Duration load_time) {
  const ServedModel& served = *loaded_.served;
  logger_.write(LogRecord(LogLevel::kInfo, "ready")
                    .add("message", "serving " + served.id)
                    .add("load_seconds", to_seconds(load_time))
                    .add("weights_bytes", static_cast<std::int64_t>(loaded_.weights_bytes))
                    .add("kv_pool_bytes", static_cast<std::int64_t>(loaded_.kv_pool_bytes))
                    .add("kv_blocks", loaded_.num_blocks)
                    .add("packed_because", loaded_.packed_because));
  const std::string url = server_->url();
  std::printf(
      "paceline %s: serving %s (%s weights, %s KV, %s, %d threads), ready after %.1f s\n"
      "  page     %s/\n"
      "  ask      curl -N %s/v1/chat/completions -H 'Content-Type: application/json' -d "
      "'{\"model\":\"%s\","
      "\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}],\"stream\":true}'\n"
      "  metrics  %s/metrics\n",
      std::string(version()).c_str(), served.id.c_str(), served.weights.c_str(), served.kv.c_str(),
      served.isa.c_str(), team_.num_threads(), to_seconds(load_time), url.c_str(), url.c_str(),
      served.id.c_str(), url.c_str());
  std::fflush(stdout);
}

void App::watch_engine() {
  while (!wait_for_end(kHealthInterval)) {
    if (!loaded_.served || loaded_.served->engine->snapshot()->healthy) continue;
    logger_.write(LogLevel::kError, "error", "an invariant of the engine is broken; draining");
    has_failed_ = true;
    signals_.notify();
    return;
  }
}

bool App::wait_for_end(Duration at_most) {
  std::unique_lock lock(mutex_);
  return ending_changed_.wait_for(lock, at_most, [this] { return is_ending_; });
}

void App::end_supervisor() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ending_changed_.notify_all();
}

void App::drain() {
  service_.drain(clock_.now() + config_.http.drain_timeout);
  std::atomic<bool> is_drained{false};
  std::thread waiter([this, &is_drained] {
    service_.wait_until_drained(kCloseGrace);
    is_drained = true;
    signals_.notify();
  });
  (void)signals_.wait();
  if (!is_drained) {
    report("second signal: ending at once");
    std::_Exit(1);
  }
  waiter.join();
}

}  // namespace paceline
