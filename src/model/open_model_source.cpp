#include "model/open_model_source.h"

#include <system_error>
#include <utility>

#include "model/gguf_config.h"
#include "model/gguf_model.h"
#include "model/hf_model.h"
#include "model/tensor_check.h"

namespace paceline {
namespace {

/// Takes the size of the vocabulary from the embedding and the tie from the absence of a head.
Result<void> complete_from_tensors(ModelConfig& config, const TensorSource& tensors,
                                   const std::string& file) {
  constexpr std::string_view kEmbedding = "token_embd.weight";
  if (!tensors.has(kEmbedding)) {
    return fail(ErrorCode::kBadFile, file + ": tensor 'token_embd.weight' is missing");
  }
  auto shape = tensors.shape(kEmbedding);
  if (!shape) return tl::unexpected(std::move(shape.error()));
  if (shape->rows > ModelLimits::kMaxVocabRows) {
    return fail(ErrorCode::kBadFile, file + ": tensor 'token_embd.weight' has " +
                                         std::to_string(shape->rows) + " rows, expected at most " +
                                         std::to_string(ModelLimits::kMaxVocabRows));
  }
  config.vocab_rows = static_cast<int>(shape->rows);
  config.tied_embeddings = !tensors.has("output.weight");
  return {};
}

Result<ModelSource> open_gguf_source(const std::filesystem::path& path) {
  auto model = open_gguf_model(path);
  if (!model) return tl::unexpected(std::move(model.error()));
  ModelSource source;
  auto config = read_gguf_config(model->metadata, source.warnings);
  if (!config) return tl::unexpected(std::move(config.error()));
  source.config = std::move(*config);
  auto completed =
      complete_from_tensors(source.config, *model->tensors, path.string()).and_then([&] {
        return check_tensors(source.config, *model->tensors, path.string(), source.warnings);
      });
  if (!completed) return tl::unexpected(std::move(completed.error()));
  auto tokenizer = read_gguf_tokenizer(model->metadata, source.warnings);
  if (!tokenizer) return tl::unexpected(std::move(tokenizer.error()));
  source.tokenizer = std::move(*tokenizer);
  const std::size_t num_tokens = source.tokenizer.tokens.size();
  if (num_tokens > static_cast<std::size_t>(source.config.vocab_rows)) {
    return fail(ErrorCode::kBadFile,
                path.string() + ": key 'tokenizer.ggml.tokens' has " + std::to_string(num_tokens) +
                    " tokens, expected at most the " + std::to_string(source.config.vocab_rows) +
                    " rows of tensor 'token_embd.weight'");
  }
  source.tensors = std::move(model->tensors);
  return source;
}

Result<ModelSource> open_hf_source(const std::filesystem::path& folder) {
  ModelSource source;
  auto model = open_hf_model(folder, source.warnings);
  if (!model) return tl::unexpected(std::move(model.error()));
  auto checked = check_tensors(model->config, *model->tensors, folder.string(), source.warnings);
  if (!checked) return tl::unexpected(std::move(checked.error()));
  source.config = std::move(model->config);
  source.tensors = std::move(model->tensors);
  source.tokenizer = std::move(model->tokenizer);
  return source;
}

}  // namespace

Result<ModelSource> open_model_source(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_hf_source(path);
  return open_gguf_source(path);
}

}  // namespace paceline
