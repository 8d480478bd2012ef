#include "tests/support/real_vocabulary.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "model/open_model_source.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {

std::optional<std::filesystem::path> test_model_path() {
  const char* path = std::getenv("PACELINE_TEST_MODEL");
  if (path == nullptr || *path == '\0') return std::nullopt;
  return path;
}

TokenizerSpec read_vocabulary(const std::filesystem::path& model) {
  auto source = open_model_source(model);
  if (!source) throw std::runtime_error(source.error().message);
  TokenizerMetadata& metadata = source->tokenizer;
  TokenizerSpec spec;
  spec.tokens = std::move(metadata.tokens);
  for (const std::int32_t type : metadata.types) spec.types.push_back(TokenType{type});
  spec.merges = std::move(metadata.merges);
  spec.pre_tokenizer = std::move(metadata.pre_tokenizer);
  spec.end_ids = std::move(metadata.end_ids);
  spec.chat_template = std::move(metadata.chat_template);
  return spec;
}

const Tokenizer* real_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = []() -> std::unique_ptr<Tokenizer> {
    const auto path = test_model_path();
    if (!path) return nullptr;
    auto result = make_bpe_tokenizer(read_vocabulary(*path));
    if (!result) throw std::runtime_error(result.error().message);
    return *std::move(result);
  }();
  return tokenizer.get();
}

}  // namespace paceline
