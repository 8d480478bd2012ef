#include "tokenizer/bpe_pieces.h"

#include <cstddef>
#include <string>
#include <unordered_map>

#include "tokenizer/byte_alphabet.h"

namespace paceline {
namespace {

// Ranks are kept as floats, which hold integers up to 2^24 exactly.
constexpr std::size_t kMaxMerges = std::size_t{1} << 24;

std::unordered_map<std::string_view, TokenId> normal_tokens(const TokenizerSpec& spec) {
  std::unordered_map<std::string_view, TokenId> ids;
  ids.reserve(spec.tokens.size());
  for (std::size_t i = 0; i < spec.tokens.size(); ++i) {
    const bool is_normal = spec.types.empty() || spec.types[i] == TokenType::kNormal;
    if (is_normal) ids.emplace(spec.tokens[i], TokenId{static_cast<std::int32_t>(i)});
  }
  return ids;
}

}  // namespace

Result<std::vector<BpePiece>> bpe_pieces(const TokenizerSpec& spec) {
  if (spec.merges.empty()) return fail(ErrorCode::kBadFile, "the vocabulary has no merges");
  if (spec.merges.size() > kMaxMerges) {
    return fail(ErrorCode::kBadFile, "the vocabulary has " + std::to_string(spec.merges.size()) +
                                         " merges, more than " + std::to_string(kMaxMerges));
  }
  const auto ids = normal_tokens(spec);
  std::vector<BpePiece> pieces;
  pieces.reserve(256 + spec.merges.size());
  std::vector<bool> is_reached(spec.tokens.size());

  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const auto found = ids.find(to_byte_alphabet({&c, 1}));
    if (found == ids.end()) {
      return fail(ErrorCode::kBadFile,
                  "the vocabulary has no token for byte " + std::to_string(byte));
    }
    is_reached[index_of(found->second)] = true;
    pieces.push_back({found->first, 0.0F, found->second});
  }
  std::string joined;
  for (std::size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    joined.assign(left).append(right);
    for (const std::string_view text :
         {std::string_view(left), std::string_view(right), std::string_view(joined)}) {
      if (ids.contains(text)) continue;
      return fail(ErrorCode::kBadFile, "merge " + std::to_string(rank) + " (`" + left + "` `" +
                                           right + "`) needs the token `" + std::string(text) +
                                           "`, which does not exist");
    }
    const auto product = ids.find(joined);
    if (is_reached[index_of(product->second)]) {
      return fail(ErrorCode::kBadFile, "merge " + std::to_string(rank) + " (`" + left + "` `" +
                                           right + "`) makes a token that an earlier merge makes");
    }
    is_reached[index_of(product->second)] = true;
    pieces.push_back({product->first, -static_cast<float>(rank), product->second});
  }
  return pieces;
}

}  // namespace paceline
