#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "model/gguf_metadata.h"
#include "model/model_config.h"
#include "model/tokenizer_metadata.h"

namespace paceline {

/// Reads and checks the hyper-parameters of a GGUF file; vocab_rows and tied_embeddings follow from
/// the tensors. Errors: kBadFile naming the key, or the architecture and those supported.
[[nodiscard]] Result<ModelConfig> read_gguf_config(const GgufMetadata& metadata,
                                                   std::vector<std::string>& warnings);

/// Reads the tokenizer of a GGUF file. Missing tokens or merges, a tokenizer that is not byte-level
/// BPE, an unknown pre-tokenizer, and end ids or types that do not fit the tokens are errors; a
/// missing pre-tokenizer, template or end id is a warning. Errors: kBadFile naming the key.
[[nodiscard]] Result<TokenizerMetadata> read_gguf_tokenizer(const GgufMetadata& metadata,
                                                            std::vector<std::string>& warnings);

}  // namespace paceline
