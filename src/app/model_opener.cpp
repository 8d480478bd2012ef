#include "app/model_opener.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace paceline {
namespace {

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return fail(ErrorCode::kIo, path.string() + ": cannot be read");
  return std::move(text).str();
}

Result<TokenizerSpec> spec_from_json(const TokenizerMetadata& metadata) {
  auto text = read_text(metadata.tokenizer_json);
  if (!text) return tl::unexpected(text.error());
  auto spec = read_tokenizer_json(*text);
  if (!spec)
    return fail(spec.error().code, metadata.tokenizer_json.string() + ": " + spec.error().message);
  spec->end_ids = metadata.end_ids;
  spec->chat_template = metadata.chat_template;
  return spec;
}

TokenizerSpec spec_from_metadata(TokenizerMetadata& metadata) {
  TokenizerSpec spec;
  spec.tokens = std::move(metadata.tokens);
  for (const std::int32_t type : metadata.types) spec.types.push_back(static_cast<TokenType>(type));
  spec.merges = std::move(metadata.merges);
  spec.pre_tokenizer = std::move(metadata.pre_tokenizer);
  spec.end_ids = std::move(metadata.end_ids);
  spec.chat_template = std::move(metadata.chat_template);
  return spec;
}

Result<TokenizerSpec> tokenizer_spec(TokenizerMetadata& metadata) {
  if (!metadata.tokenizer_json.empty()) return spec_from_json(metadata);
  return spec_from_metadata(metadata);
}

Error with_path(const Error& error, const std::string& path) {
  if (error.message.starts_with(path)) return error;
  return Error{error.code, path + ": " + error.message, error.param};
}

int limited_context(int configured, int of_model) {
  return configured > 0 ? std::min(configured, of_model) : of_model;
}

}  // namespace

std::string to_model_id(std::string_view text) {
  std::string id;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-';
    id += is_plain ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return id;
}

Result<OpenedModel> open_model(const ModelOptions& options) {
  if (options.path.empty()) {
    return fail(ErrorCode::kBadConfig, "no model: give --model FILE, model.path or PACELINE_MODEL");
  }
  auto source = open_model_source(options.path);
  if (!source) return tl::unexpected(source.error());
  OpenedModel model;
  model.warnings = source->warnings;

  auto spec = tokenizer_spec(source->tokenizer);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->chat_template.empty() && options.chat_template.empty()) {
    model.warnings.push_back(options.path + ": has no chat template; Qwen2.5's ChatML is used");
  }
  auto tokenizer = make_bpe_tokenizer(*spec);
  if (!tokenizer) return tl::unexpected(with_path(tokenizer.error(), options.path));
  if ((*tokenizer)->vocab_size() > source->config.vocab_rows) {
    return fail(ErrorCode::kBadFile, options.path + ": the vocabulary has " +
                                         std::to_string((*tokenizer)->vocab_size()) +
                                         " tokens, token_embd.weight only " +
                                         std::to_string(source->config.vocab_rows) + " rows");
  }
  auto chat_template = make_chat_template(spec->chat_template, options.chat_template);
  if (!chat_template) return tl::unexpected(with_path(chat_template.error(), options.path));

  model.tokenizer = std::move(*tokenizer);
  model.chat_template = std::move(*chat_template);
  model.id = options.name;
  if (model.id.empty()) model.id = to_model_id(source->config.name);
  if (model.id.empty()) model.id = to_model_id(std::filesystem::path(options.path).stem().string());
  model.max_context = limited_context(options.max_context, source->config.max_context);
  model.source = std::move(*source);
  return model;
}

}  // namespace paceline
