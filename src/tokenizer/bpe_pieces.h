#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Token that merging can reach, in the byte-level alphabet.
struct BpePiece {
  std::string_view text;
  float score;  // minus the rank of the merge that makes it; 0 for a single byte
  TokenId id;
};

/// Lists the 256 single bytes and the product of every merge. Tokens that no merge makes are left
/// out, because byte-level BPE never yields them. The views point into `spec`.
/// Errors: kBadFile for no merges, too many, a missing byte token, a merge of or into a token that
/// does not exist, or two merges into the same token (pieces have one rank each).
[[nodiscard]] Result<std::vector<BpePiece>> bpe_pieces(const TokenizerSpec& spec);

}  // namespace paceline
