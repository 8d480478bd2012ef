#pragma once

#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Reads a Hugging Face tokenizer.json. End tokens and the chat template stand in other files of
/// the folder and stay empty. Added tokens that are special become control tokens, the others
/// user-defined ones.
/// Errors: kBadFile naming the field, for text that is not JSON, a model other than byte-level BPE
/// with the Qwen2 split pattern and NFC, options that would change ids, or ids that do not run from
/// 0 without a gap.
[[nodiscard]] Result<TokenizerSpec> read_tokenizer_json(std::string_view json);

}  // namespace paceline
