#include "config/config.h"

namespace paceline {

std::vector<std::string> check_together(const Config& config) {
  std::vector<std::string> faults;
  const int block_size = config.scheduler.block_size;
  if (block_size != 16 && block_size != 32 && block_size != 64) {
    faults.push_back("kv.block_size: must be 16, 32 or 64, got " + std::to_string(block_size));
  }
  if (config.model.weights == "f32" && config.model.kv_dtype == "bf16") {
    faults.push_back(
        "kv.dtype: with model.weights = \"f32\" the cache is f32; bf16 has no meaning there");
  }
  if (config.http.body_idle_timeout > config.http.body_timeout) {
    faults.push_back("http.body_idle_timeout_ms: must not be above http.body_timeout_ms");
  }
  return faults;
}

}  // namespace paceline
