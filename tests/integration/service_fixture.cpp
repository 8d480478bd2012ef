#include "tests/integration/service_fixture.h"

#include <cstdlib>
#include <thread>
#include <utility>

#include "base/check.h"
#include "metrics/exposition.h"
#include "scheduler/scheduler.h"
#include "tests/support/http_client.h"
#include "tests/support/tiny_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {

namespace {

std::shared_ptr<const Tokenizer> make_tokenizer() {
  auto made = make_bpe_tokenizer(tiny_vocabulary());
  CHECK(made.has_value());
  return std::move(*made);
}

std::shared_ptr<const ChatTemplate> make_template() {
  auto made = make_chat_template("", "chatml");
  CHECK(made.has_value());
  return std::move(*made);
}

ServiceFixture::Options with_defaults(ServiceFixture::Options options) {
  options.http.port = 0;
  if (options.scheduler.num_blocks == 0) options.scheduler.num_blocks = 1024;
  if (options.scheduler.max_context == 0) options.scheduler.max_context = 4096;
  return options;
}

}  // namespace

ServiceFixture::ServiceFixture() : ServiceFixture(Options{}) {}

ServiceFixture::ServiceFixture(Options options)
    : options_(with_defaults(std::move(options))),
      tokenizer_(make_tokenizer()),
      template_(make_template()),
      engine_metrics_(registry_, clock_, EngineMetricsOptions{.model_name = "tiny"}),
      http_metrics_(registry_, http_route_labels()),
      service_(clock_),
      logger_(LogLevel::kInfo, [this](std::string_view line) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(line);
      }) {
  auto runner = std::make_unique<ScriptedModelRunner>(
      ScriptedModelRunner::Options{.vocab_size = tokenizer_->vocab_size(),
                                   .block_size = options_.scheduler.block_size,
                                   .num_blocks = options_.scheduler.num_blocks,
                                   .end_token = *tokenizer_->find_special("<|im_end|>")});
  runner_ = runner.get();
  options_.engine.max_context = options_.scheduler.max_context;
  options_.engine.block_size = options_.scheduler.block_size;
  options_.engine.vocab_size = tokenizer_->vocab_size();
  engine_ = std::make_shared<Engine>(options_.engine,
                                     std::make_unique<Scheduler>(options_.scheduler, clock_),
                                     std::move(runner), tokenizer_, engine_metrics_, clock_);
  engine_->start();
  if (options_.is_loaded) load();
  server_ = std::make_unique<HttpServer>(
      options_.http,
      HttpServerDependencies{service_, http_metrics_, [this] { return exposition(registry_); },
                             logger_, clock_, "1.2.3", "abcdef"});
  const auto started = server_->start();
  CHECK(started.has_value());
}

ServiceFixture::~ServiceFixture() {
  runner_->release();
  server_->stop(std::chrono::milliseconds(0));
  engine_->stop();
}

void ServiceFixture::load() {
  ServedModel model;
  model.id = "tiny";
  model.aliases = {"small"};
  model.created = 1790000000;
  model.max_context = options_.scheduler.max_context;
  model.max_kv_tokens = options_.scheduler.num_blocks * options_.scheduler.block_size;
  model.system_fingerprint = "fp_0123456789ab";
  model.isa = "scalar";
  model.weights = "int8";
  model.kv = "int8";
  model.tokenizer = tokenizer_;
  model.chat_template = template_;
  model.engine = engine_;
  service_.install(std::make_shared<const ServedModel>(std::move(model)));
}

std::vector<TokenId> ServiceFixture::chat_prompt(std::string_view content) const {
  Message message;
  message.content = std::string(content);
  const auto segments = template_->render(std::vector<Message>{message}, {});
  CHECK(segments.has_value());
  return tokenizer_->encode_segments(*segments);
}

void ServiceFixture::script_chat(std::string_view content, std::string_view answer) {
  runner_->script(chat_prompt(content), tokenizer_->encode(answer, SpecialText::kPlain));
}

double ServiceFixture::metric(std::string_view series) const {
  const std::string text = exposition(registry_);
  const std::string line_start = "\n" + std::string(series) + " ";
  const std::size_t begin = text.find(line_start);
  if (begin == std::string::npos) return 0;
  return std::strtod(text.c_str() + begin + line_start.size(), nullptr);
}

double ServiceFixture::metric_sum(std::string_view family, std::string_view part) const {
  const std::string text = exposition(registry_);
  double sum = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const bool is_series =
        line.starts_with(family) && (line[family.size()] == '{' || line[family.size()] == ' ');
    if (is_series && line.find(part) != std::string::npos) {
      sum += std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    begin = end + 1;
  }
  return sum;
}

bool ServiceFixture::eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

bool ServiceFixture::comes_to_rest() const {
  return eventually([this] {
    const auto snapshot = engine_->snapshot();
    return !snapshot->has_work && snapshot->num_running == 0 && snapshot->num_waiting == 0 &&
           snapshot->kv_blocks_active == 0;
  });
}

std::vector<std::string> ServiceFixture::log_lines() {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::string chat_body(std::string_view content, std::string_view fields) {
  std::string body = R"({"model":"tiny","temperature":0,"messages":[{"role":"user","content":")";
  return body.append(content).append(R"("}])").append(fields).append("}");
}

std::string chat_request(std::string_view content, std::string_view fields) {
  return make_request("POST", "/v1/chat/completions", chat_body(content, fields));
}

std::string joined_content(const std::vector<std::string>& events) {
  constexpr std::string_view kKey = R"("content":")";
  std::string text;
  for (const std::string& event : events) {
    const std::size_t key = event.find(kKey);
    if (key == std::string::npos) continue;
    const std::size_t begin = key + kKey.size();
    text += event.substr(begin, event.find('"', begin) - begin);
  }
  return text;
}

}  // namespace paceline
