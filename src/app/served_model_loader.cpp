#include "app/served_model_loader.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "app/fingerprint.h"
#include "app/version.h"
#include "engine/cpu_model_runner.h"
#include "engine/engine.h"
#include "model/kv_cache.h"
#include "model/qwen2_model.h"
#include "scheduler/scheduler.h"

namespace paceline {
namespace {

WeightsForm weights_form(const ModelOptions& options) {
  return options.weights == "f32" ? WeightsForm::kF32 : WeightsForm::kInt8;
}

KvElement kv_element(const ModelOptions& options) {
  if (options.weights == "f32" || options.kv_dtype == "f32") return KvElement::kF32;
  return options.kv_dtype == "bf16" ? KvElement::kBf16 : KvElement::kInt8;
}

std::string kv_name(const ModelOptions& options) {
  return options.weights == "f32" ? "f32" : options.kv_dtype;
}

Result<int> pool_blocks(const Config& config, const KvCacheLayout& layout) {
  if (config.scheduler.num_blocks > 0) return config.scheduler.num_blocks;
  const auto bytes = static_cast<std::uint64_t>(config.model.kv_memory_bytes);
  const std::uint64_t blocks =
      std::min<std::uint64_t>(bytes / layout.bytes_per_block(), 100'000'000);
  if (blocks == 0) {
    return fail(ErrorCode::kBadConfig, "kv.memory_bytes: " + std::to_string(bytes) +
                                           " bytes hold no block; one of " +
                                           std::to_string(layout.block_size()) + " tokens needs " +
                                           std::to_string(layout.bytes_per_block()));
  }
  return static_cast<int>(blocks);
}

SchedulerOptions scheduler_options(const Config& config, int max_context, int num_blocks) {
  SchedulerOptions options = config.scheduler;
  options.max_context = max_context;
  options.num_blocks = num_blocks;
  std::random_device random;
  options.hash_seed = (std::uint64_t{random()} << 32) | random();
  return options;
}

std::string fingerprint_of(const OpenedModel& opened, const LoadContext& context) {
  return system_fingerprint({version(), commit(), opened.source.tensors->fingerprint(),
                             context.config.model.weights, to_string(context.isa),
                             kv_name(context.config.model)});
}

std::int64_t unix_seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<LoadedModel> load_served_model(OpenedModel opened, const LoadContext& context) {
  const Config& config = context.config;
  const ModelConfig shape = opened.source.config;
  LoadedModel loaded;

  WeightsOptions weights_options{weights_form(config.model), {}, context.isa};
  if (weights_options.form == WeightsForm::kInt8) {
    weights_options.cache_file = packed_cache_path(config.model.path, config.model.cache_dir);
  }
  auto weights =
      load_weights(*opened.source.tensors, shape, weights_options, context.team, context.progress);
  if (!weights) return tl::unexpected(weights.error());
  loaded.packed_because = std::move(weights->packed_because);
  loaded.warnings = std::move(weights->warnings);
  loaded.weights_bytes = weights->weights.size_bytes();

  const KvCacheLayout layout(shape, kv_element(config.model), weights->weights.max_key_bias(shape),
                             config.scheduler.block_size);
  const auto num_blocks = pool_blocks(config, layout);
  if (!num_blocks) return tl::unexpected(num_blocks.error());
  auto cache = KvCache::create(layout, *num_blocks);
  if (!cache) return tl::unexpected(cache.error());
  loaded.num_blocks = *num_blocks;
  loaded.kv_pool_bytes = cache->reserved_bytes();

  const SchedulerOptions scheduler = scheduler_options(config, opened.max_context, *num_blocks);
  const StepLimits limits{scheduler.max_step_tokens, scheduler.max_logits_rows};
  auto model = Qwen2Model::create(shape, std::move(weights->weights), limits, opened.max_context,
                                  ModelRuntime{context.team, context.clock, context.isa});
  if (!model) return tl::unexpected(model.error());

  EngineMetricsOptions metrics_options;
  metrics_options.model_name = opened.id;
  metrics_options.cache_dtype = kv_name(config.model);
  metrics_options.block_size = scheduler.block_size;
  metrics_options.num_blocks = *num_blocks;
  metrics_options.kv_pool_bytes = loaded.kv_pool_bytes;
  metrics_options.prefix_cache = scheduler.prefix_cache;
  loaded.metrics =
      std::make_unique<EngineMetrics>(context.registry, context.clock, metrics_options);

  EngineOptions engine_options = config.engine;
  engine_options.max_context = opened.max_context;
  engine_options.block_size = scheduler.block_size;
  engine_options.vocab_size = opened.tokenizer->vocab_size();

  auto served = std::make_shared<ServedModel>();
  served->id = opened.id;
  served->aliases = config.model.aliases;
  served->created = unix_seconds_now();
  served->max_context = opened.max_context;
  served->max_kv_tokens = *num_blocks * scheduler.block_size;
  served->system_fingerprint = fingerprint_of(opened, context);
  served->isa = to_string(context.isa);
  served->weights = config.model.weights;
  served->kv = kv_name(config.model);
  served->sampling_defaults = config.sampling;
  served->tokenizer = opened.tokenizer;
  served->chat_template = opened.chat_template;
  served->engine = std::make_shared<Engine>(
      engine_options, std::make_unique<Scheduler>(scheduler, context.clock),
      std::make_unique<CpuModelRunner>(std::move(*model), std::move(*cache)), opened.tokenizer,
      *loaded.metrics, context.clock, &context.team);
  served->engine->start();
  loaded.served = std::move(served);
  return loaded;
}

}  // namespace paceline
