#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "model/model_config.h"
#include "model/tensor_source.h"
#include "model/weights.h"

namespace paceline {

struct WeightsOptions {
  WeightsForm form = WeightsForm::kInt8;
  /// Cache file of the packed form (packed_cache_path()); empty: pack into memory at every start.
  /// The float form is never cached.
  std::filesystem::path cache_file = {};
  Isa isa = Isa::kScalar;  ///< only speed depends on it
};

struct LoadedWeights {
  Weights weights;
  /// Why the cache file was made anew; empty when it was there or is not used.
  std::string packed_because = {};
  /// One line each, for the log: the cache file cannot be used, and why.
  std::vector<std::string> warnings = {};
};

/// Called on the loading thread as packing advances, in bytes of the loaded form.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Returns where the packed form of a model file is kept: `<name>.int8.paceline` in `cache_dir`, or
/// beside the model when that is empty.
[[nodiscard]] std::filesystem::path packed_cache_path(const std::filesystem::path& model_path,
                                                      const std::filesystem::path& cache_dir);

/// Loads all weights. The int8 form comes from the cache file, mapped; when that is missing, stale
/// or damaged it is made first, one matrix in memory at a time. A cache that cannot be used (folder
/// read-only, lock held) only costs a warning. Errors: kBadFile naming tensor and file; kDiskFull
/// naming the cache file, since a full disk is a fault to mend, not a choice; throws
/// std::bad_alloc when memory runs out. Thread: the team's caller.
[[nodiscard]] Result<LoadedWeights> load_weights(const TensorSource& source,
                                                 const ModelConfig& config,
                                                 const WeightsOptions& options, ThreadPool& team,
                                                 const LoadProgress& progress);

}  // namespace paceline
