#include <filesystem>
#include <iostream>

#include "app/commands/commands.h"
#include "app/model_opener.h"
#include "app/processor_quota.h"
#include "base/thread_pool.h"
#include "model/weights_loader.h"

namespace paceline {

int run_pack(const PackCommand& command) {
  const auto config = load_config_or_report(command.sources);
  if (!config) return 2;
  const auto isa = choose_isa(config->model.isa);
  if (!isa) {
    std::cerr << "paceline: " << isa.error().message << '\n';
    return 2;
  }
  auto model = open_model(config->model);
  if (!model) {
    std::cerr << "paceline: " << model.error().message << '\n';
    return 1;
  }
  const auto file = packed_cache_path(config->model.path, config->model.cache_dir);
  ThreadPool team(config->model.threads > 0 ? config->model.threads : available_processors());
  int shown = -1;
  const auto progress = [&shown](std::uint64_t done, std::uint64_t total) {
    const int percent = total == 0 ? 100 : static_cast<int>(100 * done / total);
    if (percent / 10 != shown / 10 || shown < 0)
      std::cerr << "paceline: packing weights: " << percent << " %\n";
    shown = percent;
  };
  const auto loaded = load_weights(*model->source.tensors, model->source.config,
                                   {WeightsForm::kInt8, file, *isa}, team, progress);
  if (!loaded) {
    std::cerr << "paceline: " << loaded.error().message << '\n';
    return 1;
  }
  for (const std::string& warning : loaded->warnings) std::cerr << "paceline: " << warning << '\n';
  if (!loaded->warnings.empty()) return 1;
  std::cout << (loaded->packed_because.empty() ? "already packed: " : "packed: ") << file.string()
            << '\n';
  return 0;
}

}  // namespace paceline
