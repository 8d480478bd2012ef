// paceline-accuracy: perplexity of a model's float and int8 forms on given texts, and how often
// both like the same token best. Texts are token ids, so that no tokenizer takes part.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "model/accuracy.h"
#include "model/open_model_source.h"
#include "model/weights_loader.h"

namespace paceline {
namespace {

struct Options {
  std::string model;
  std::string ids;
  int window = 512;
  int max_tokens = 1 << 30;
  int threads = 2;
  std::string isa;
  std::string kv_dtype = "int8";
  bool int8_only = false;
};

using Windows = std::vector<std::vector<TokenId>>;

/// One text per line: ids separated by white space; cut into windows of at most `window` tokens.
Windows read_windows(const Options& options) {
  std::ifstream file(options.ids);
  Windows windows;
  int num_tokens = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::vector<TokenId> window;
    for (int id = 0; text >> id && num_tokens < options.max_tokens; ++num_tokens) {
      window.push_back(TokenId{id});
      if (static_cast<int>(window.size()) == options.window) {
        windows.push_back(std::exchange(window, {}));
      }
    }
    if (window.size() >= 2) windows.push_back(std::move(window));
  }
  return windows;
}

KvElement kv_element(const std::string& name) {
  if (name == "f32") return KvElement::kF32;
  return name == "bf16" ? KvElement::kBf16 : KvElement::kInt8;
}

/// Scores all windows with one form of the model, which is loaded for it and freed afterwards.
Result<TeacherForcedScores> score(const Options& options, const ModelSource& source,
                                  WeightsForm form, KvElement kv_dtype, const Windows& windows) {
  constexpr int kBlockSize = 32;
  constexpr int kMaxRows = 128;
  const SteadyClock clock;
  ThreadPool team(options.threads);
  auto isa = choose_isa(options.isa);
  if (!isa) return tl::unexpected(std::move(isa.error()));
  auto loaded = load_weights(*source.tensors, source.config, {.form = form, .isa = *isa}, team, {});
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  const std::vector<float> key_bias = loaded->weights.max_key_bias(source.config);
  auto cache = KvCache::create(KvCacheLayout(source.config, kv_dtype, key_bias, kBlockSize),
                               options.window / kBlockSize + 1);
  if (!cache) return tl::unexpected(std::move(cache.error()));
  auto model = Qwen2Model::create(source.config, std::move(loaded->weights),
                                  {.max_tokens = kMaxRows, .max_logits_rows = kMaxRows},
                                  options.window, {.team = team, .clock = clock, .isa = *isa});
  if (!model) return tl::unexpected(std::move(model.error()));
  TeacherForcedScores scores;
  for (const auto& window : windows) scores.append(score_text(**model, *cache, window));
  return scores;
}

Result<void> run(const Options& options) {
  auto source = open_model_source(options.model);
  if (!source) return tl::unexpected(std::move(source.error()));
  const Windows windows = read_windows(options);
  if (windows.empty()) return fail(ErrorCode::kBadFile, options.ids + " has no token ids");

  auto int8 = score(options, *source, WeightsForm::kInt8, kv_element(options.kv_dtype), windows);
  if (!int8) return tl::unexpected(std::move(int8.error()));
  std::printf("positions %zu\nint8 perplexity %.4f\n", int8->best_tokens.size(),
              int8->perplexity());
  if (options.int8_only) return {};
  auto f32 = score(options, *source, WeightsForm::kF32, KvElement::kF32, windows);
  if (!f32) return tl::unexpected(std::move(f32.error()));
  std::printf("f32 perplexity %.4f\nincrease %.3f %%\nagreement %.3f %%\n", f32->perplexity(),
              100.0 * (int8->perplexity() / f32->perplexity() - 1.0),
              100.0 * agreement(*int8, *f32));
  return {};
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Compares a model's int8 form with its float form on token ids"};
  app.add_option("model", options.model, "GGUF file or Hugging Face folder")->required();
  app.add_option("ids", options.ids, "file of token ids, one text per line")->required();
  app.add_option("--window", options.window, "tokens scored from an empty context")
      ->check(CLI::Range(2, 32768));
  app.add_option("--max-tokens", options.max_tokens, "stop after so many tokens");
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 256));
  app.add_option("--isa", options.isa, "scalar, avx2, avx512_vnni, amx_int8");
  app.add_option("--kv-dtype", options.kv_dtype, "of the int8 form")
      ->check(CLI::IsMember({"int8", "bf16", "f32"}));
  app.add_flag("--int8-only", options.int8_only, "leave the float form out");
  CLI11_PARSE(app, argc, argv);
  const auto done = paceline::run(options);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
