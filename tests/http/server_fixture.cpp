#include "tests/http/server_fixture.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "metrics/exposition.h"

namespace paceline {

using std::chrono::milliseconds;

HttpOptions quick_options() {
  HttpOptions options;
  options.port = 0;
  options.header_timeout = milliseconds(300);
  options.body_idle_timeout = milliseconds(300);
  options.body_timeout = milliseconds(2000);
  options.keep_alive_timeout = milliseconds(300);
  return options;
}

ServerFixture::ServerFixture(HttpOptions options)
    : metrics_(registry_, http_route_labels()),
      service_(clock_),
      logger_(LogLevel::kInfo, [this](std::string_view line) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(line);
      }) {
  options.port = 0;
  server_ = std::make_unique<HttpServer>(
      options, HttpServerDependencies{service_, metrics_, [this] { return exposition(registry_); },
                                      logger_, clock_, "1.2.3", "abcdef"});
  const auto started = server_->start();
  CHECK(started.has_value());
}

ServerFixture::~ServerFixture() { server_->stop(milliseconds(0)); }

bool ServerFixture::wait_until_no_connections() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (server_->num_connections() > 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::vector<std::string> ServerFixture::log_lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::size_t ServerFixture::num_request_lines() {
  const auto lines = log_lines();
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find("\"event\":\"request\"") != std::string::npos;
      }));
}

}  // namespace paceline
