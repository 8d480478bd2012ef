#include "model/tensor_check.h"

#include <set>
#include <utility>

#include "model/byte_reader.h"
#include "model/mapped_tensors.h"

namespace paceline {
namespace {

void append_layer(std::vector<ExpectedTensor>& tensors, const ModelConfig& config, int layer) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t kv_width = std::int64_t{config.n_kv_heads} * config.head_dim;
  const std::int64_t ffn = config.ffn_size;
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  tensors.push_back({prefix + "attn_norm.weight", {1, hidden}});
  tensors.push_back({prefix + "attn_q.weight", {hidden, hidden}});
  tensors.push_back({prefix + "attn_q.bias", {1, hidden}});
  tensors.push_back({prefix + "attn_k.weight", {kv_width, hidden}});
  tensors.push_back({prefix + "attn_k.bias", {1, kv_width}});
  tensors.push_back({prefix + "attn_v.weight", {kv_width, hidden}});
  tensors.push_back({prefix + "attn_v.bias", {1, kv_width}});
  tensors.push_back({prefix + "attn_output.weight", {hidden, hidden}});
  tensors.push_back({prefix + "ffn_norm.weight", {1, hidden}});
  tensors.push_back({prefix + "ffn_gate.weight", {ffn, hidden}});
  tensors.push_back({prefix + "ffn_up.weight", {ffn, hidden}});
  tensors.push_back({prefix + "ffn_down.weight", {hidden, ffn}});
}

/// One warning for all tensors that are not needed, the first few by name.
void warn_about_others(const std::vector<ExpectedTensor>& expected, const TensorSource& tensors,
                       std::string_view file, std::vector<std::string>& warnings) {
  constexpr std::size_t kMaxNamed = 5;
  std::set<std::string_view> needed;
  for (const ExpectedTensor& tensor : expected) needed.insert(tensor.name);
  std::size_t num_others = 0;
  std::string named;
  for (const std::string_view name : tensors.names()) {
    if (needed.contains(name)) continue;
    if (++num_others <= kMaxNamed) named += (named.empty() ? "" : ", ") + quote_name(name);
  }
  if (num_others == 0) return;
  if (num_others > kMaxNamed) named += ", …";
  warnings.push_back(std::string(file) + ": " + std::to_string(num_others) +
                     " tensors are not used: " + named);
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config) {
  std::vector<ExpectedTensor> tensors;
  tensors.push_back({"token_embd.weight", {config.vocab_rows, config.hidden_size}});
  for (int layer = 0; layer < config.n_layers; ++layer) append_layer(tensors, config, layer);
  tensors.push_back({"output_norm.weight", {1, config.hidden_size}});
  if (!config.tied_embeddings) {
    tensors.push_back({"output.weight", {config.vocab_rows, config.hidden_size}});
  }
  return tensors;
}

Result<void> check_tensors(const ModelConfig& config, const TensorSource& tensors,
                           std::string_view file, std::vector<std::string>& warnings) {
  const std::vector<ExpectedTensor> expected = expected_tensors(config);
  for (const ExpectedTensor& tensor : expected) {
    const std::string what = std::string(file) + ": tensor " + quote_name(tensor.name);
    if (!tensors.has(tensor.name)) {
      return fail(ErrorCode::kBadFile,
                  what + " is missing, expected the shape " + to_string(tensor.shape));
    }
    auto shape = tensors.shape(tensor.name);
    if (!shape) return tl::unexpected(std::move(shape.error()));
    if (*shape != tensor.shape) {
      return fail(ErrorCode::kBadFile, what + " has the shape " + to_string(*shape) +
                                           ", expected " + to_string(tensor.shape));
    }
  }
  warn_about_others(expected, tensors, file, warnings);
  return {};
}

}  // namespace paceline
