#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "http/openai/json_writer.h"

namespace paceline::openai {

/// One entry of the list of models; aliases are entries of their own.
struct ModelEntry {
  std::string id;
  std::string root;  ///< canonical id
  std::int64_t created = 0;
  int max_model_len = 0;
};

/// Body of GET /v1/models/{id} (API.md §7.3).
[[nodiscard]] std::string write_model(const ModelEntry& entry);
/// Body of GET /v1/models.
[[nodiscard]] std::string write_model_list(std::span<const ModelEntry> entries);

/// Body of the answer of /tokenize; `token_strs` null unless they were asked for. Their bytes may
/// be broken UTF-8.
[[nodiscard]] std::string write_tokens(std::span<const TokenId> ids, int max_model_len,
                                       const std::vector<std::string_view>* token_strs);
/// Body of the answers of /detokenize and /apply-template.
[[nodiscard]] std::string write_prompt(std::string_view text);
/// Body of the answer of /v1/responses/input_tokens.
[[nodiscard]] std::string write_input_tokens(int num_tokens);
/// Body of the answer of DELETE /v1/responses/{id}.
[[nodiscard]] std::string write_response_deleted(std::string_view id);

}  // namespace paceline::openai
