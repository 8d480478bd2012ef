#pragma once

#include <memory>

#include "base/error.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Builds a byte-level BPE tokenizer that gives the ids of the Hugging Face tokenizer of the same
/// vocabulary: special tokens, then NFC, then the split pattern, then BPE within each word. An
/// empty pre_tokenizer name is taken as `qwen2`. Holds a table of recent words of 4 MB.
/// When a text has more ids than `max_tokens` of encode(), the ids of its last word may be others
/// than those of the whole text. encode() throws as PreTokenizer::split.
/// Errors: kBadFile for a vocabulary that is empty or inconsistent, an end token that does not
/// exist, or an unknown split pattern.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(const TokenizerSpec& spec);

}  // namespace paceline
