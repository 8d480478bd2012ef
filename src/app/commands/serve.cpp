#include <iostream>
#include <stdexcept>

#include "app/app.h"
#include "app/blas_check.h"
#include "app/commands/commands.h"

namespace paceline {
namespace {

constexpr int kWrongConfiguration = 2;

int report(const Error& error) {
  std::cerr << "paceline: " << error.message << '\n';
  return error.code == ErrorCode::kBadConfig ? kWrongConfiguration : 1;
}

}  // namespace

int run_serve(const ServeCommand& command) {
  const ShutdownSignals signals;
  auto config = load_config_or_report(command.sources);
  if (!config) return kWrongConfiguration;
  const auto isa = choose_isa(config->model.isa);
  if (!isa) return report(isa.error());
  auto model = open_model(config->model);
  if (!model) return report(model.error());
  if (config->model.weights == "f32") {
    if (auto works = ensure_blas_works(); !works) return report(works.error());
  }
  try {
    App app(std::move(*config), std::move(*model), *isa, signals);
    return app.run();
  } catch (const std::runtime_error& error) {
    std::cerr << "paceline: " << error.what() << '\n';
    return kWrongConfiguration;
  }
}

}  // namespace paceline
