#include "model/weights_loader.h"

#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include "base/function_ref.h"
#include "model/linear_packing.h"
#include "model/packed_file_cache.h"

namespace paceline {
namespace {

/// Everything that decides the packed bytes beside the model itself; changes with any of it.
constexpr std::string_view kPacking =
    "int8 rows of 16, k tiles of 64, one scale per row, hadamard up to 128; version 1";
// Another process that makes the same file: half a minute for 0.5B, minutes for 7B.
constexpr std::chrono::minutes kLockTimeout{10};

/// A packed file's section as numbers; checked by QuantizedMatrix::view. Sections are aligned to a
/// page.
template <typename T>
std::span<const T> section_as(const PackedFile& file, const std::string& name) {
  const auto bytes = file.section(name);
  if (!bytes) return {};
  return {reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
}

Result<void> write_matrix(PackedFileWriter& writer, const std::string& name,
                          const QuantizedMatrix& matrix) {
  const QuantizedMatrix::Parts& parts = matrix.parts();
  const std::pair<const char*, std::span<const std::byte>> sections[] = {
      {".values", std::as_bytes(parts.values)},
      {".scales", std::as_bytes(parts.scales)},
      {".row_sums", std::as_bytes(parts.row_sums)},
      {".bias", std::as_bytes(parts.bias)}};
  for (const auto& [suffix, bytes] : sections) {
    if (bytes.empty()) continue;
    if (auto done = writer.add_section(name + suffix, bytes); !done) return done;
  }
  return {};
}

Result<QuantizedMatrix> view_matrix(const PackedFile& file, const LinearSpec& spec) {
  return QuantizedMatrix::view(spec.rows, spec.columns,
                               {.values = section_as<std::int8_t>(file, spec.name + ".values"),
                                .scales = section_as<float>(file, spec.name + ".scales"),
                                .row_sums = section_as<std::int32_t>(file, spec.name + ".row_sums"),
                                .bias = section_as<float>(file, spec.name + ".bias")});
}

Result<std::vector<float>> read_norm(const TensorSource& source, const std::string& name,
                                     int size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  if (auto done = source.read_rows(name, 0, 1, values); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  return values;
}

using LinearFactory = FunctionRef<Result<LinearWeights>(const LinearSpec& spec)>;

/// Puts a model together: norms from the source, linear layers from `make`, in the order of use.
Result<Weights> assemble(const TensorSource& source, const ModelConfig& config, WeightsForm form,
                         LinearFactory make) {
  Weights weights;
  weights.form = form;
  Result<void> result;
  const auto set_linear = [&](LinearWeights& target, const LinearSpec& spec) {
    if (!result) return;
    auto linear = make(spec);
    if (linear) {
      target = std::move(*linear);
    } else {
      result = tl::unexpected(std::move(linear.error()));
    }
  };
  const auto set_norm = [&](std::vector<float>& target, const std::string& name) {
    if (!result) return;
    auto norm = read_norm(source, name, config.hidden_size);
    if (norm) {
      target = std::move(*norm);
    } else {
      result = tl::unexpected(std::move(norm.error()));
    }
  };
  if (!config.tied_embeddings) set_linear(weights.embedding.emplace(), embedding_spec(config));
  weights.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (int l = 0; l < config.n_layers; ++l) {
    LayerWeights& layer = weights.layers[static_cast<std::size_t>(l)];
    const std::string block = "blk." + std::to_string(l) + ".";
    set_norm(layer.attention_norm, block + "attn_norm.weight");
    set_linear(layer.qkv, qkv_spec(config, l));
    set_linear(layer.attention_output, attention_output_spec(config, l));
    set_norm(layer.ffn_norm, block + "ffn_norm.weight");
    set_linear(layer.gate_up, gate_up_spec(config, l));
    set_linear(layer.down, down_spec(config, l));
  }
  set_norm(weights.output_norm, "output_norm.weight");
  set_linear(weights.head, head_spec(config));
  if (!result) return tl::unexpected(std::move(result.error()));
  return weights;
}

/// Counts weights and reports them as bytes of the loaded form.
class ProgressCounter {
 public:
  ProgressCounter(const ModelConfig& config, std::uint64_t bytes_per_weight,
                  const LoadProgress& progress)
      : bytes_per_weight_(bytes_per_weight), progress_(progress) {
    for (const LinearSpec& spec : linear_specs(config)) {
      total_ += static_cast<std::uint64_t>(spec.rows) * static_cast<std::uint64_t>(spec.columns);
    }
  }
  void add(std::uint64_t num_weights) {
    done_ += num_weights;
    if (progress_) progress_(done_ * bytes_per_weight_, total_ * bytes_per_weight_);
  }
  void restart() { done_ = 0; }

 private:
  std::uint64_t bytes_per_weight_;
  const LoadProgress& progress_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
};

Result<LoadedWeights> map_weights(const TensorSource& source, const ModelConfig& config,
                                  const WeightsOptions& options, const LinearPacker& packer) {
  auto opened = open_or_make_packed_file(
      options.cache_file, make_packed_file_key(source.fingerprint(), kPacking), kLockTimeout,
      [&](PackedFileWriter& writer) -> Result<void> {
        for (const LinearSpec& spec : linear_specs(config)) {
          auto matrix = packer.pack_int8(spec);
          if (!matrix) return tl::unexpected(std::move(matrix.error()));
          if (auto done = write_matrix(writer, spec.name, *matrix); !done) return done;
        }
        return {};
      });
  if (!opened) return tl::unexpected(std::move(opened.error()));
  auto weights = assemble(source, config, WeightsForm::kInt8,
                          [&](const LinearSpec& spec) -> Result<LinearWeights> {
                            auto matrix = view_matrix(opened->file, spec);
                            if (!matrix) return tl::unexpected(std::move(matrix.error()));
                            return LinearWeights(std::move(*matrix));
                          });
  if (!weights) return tl::unexpected(std::move(weights.error()));
  weights->file = std::move(opened->file);
  return LoadedWeights{.weights = std::move(*weights),
                       .packed_because = std::move(opened->made_because)};
}

}  // namespace

std::filesystem::path packed_cache_path(const std::filesystem::path& model_path,
                                        const std::filesystem::path& cache_dir) {
  // A folder may be written with a slash at its end; its name is what counts.
  const std::filesystem::path model =
      model_path.has_filename() ? model_path : model_path.parent_path();
  const std::filesystem::path name(model.filename().string() + ".int8.paceline");
  return (cache_dir.empty() ? model.parent_path() : cache_dir) / name;
}

Result<LoadedWeights> load_weights(const TensorSource& source, const ModelConfig& config,
                                   const WeightsOptions& options, ThreadPool& team,
                                   const LoadProgress& progress) {
  const bool is_int8 = options.form == WeightsForm::kInt8;
  ProgressCounter counter(config, is_int8 ? 1 : sizeof(float), progress);
  const LinearPacker packer(source, kernels_for(options.isa), team,
                            [&](std::uint64_t num_weights) { counter.add(num_weights); });
  std::vector<std::string> warnings;
  if (is_int8 && !options.cache_file.empty()) {
    auto mapped = map_weights(source, config, options, packer);
    if (mapped || mapped.error().code != ErrorCode::kIo) return mapped;
    warnings.push_back("packed weights are not kept in a file: " + mapped.error().message);
    counter.restart();
  }
  const auto make = [&](const LinearSpec& spec) -> Result<LinearWeights> {
    if (is_int8) {
      return packer.pack_int8(spec).map([](auto&& m) { return LinearWeights(std::move(m)); });
    }
    return packer.read_f32(spec).map([](auto&& m) { return LinearWeights(std::move(m)); });
  };
  auto weights = assemble(source, config, options.form, make);
  if (!weights) return tl::unexpected(std::move(weights.error()));
  return LoadedWeights{.weights = std::move(*weights), .warnings = std::move(warnings)};
}

}  // namespace paceline
