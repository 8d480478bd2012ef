#include "kvpool/block_hash.h"

#include <cstddef>

namespace paceline {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Step of the SplitMix64 sequence: keeps a run of zeros from leaving the state unchanged.
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;

std::uint64_t bits(TokenId token) { return static_cast<std::uint32_t>(raw(token)); }

}  // namespace

BlockHash hash_block(BlockHash parent, std::span<const TokenId> tokens) {
  std::uint64_t h = static_cast<std::uint64_t>(parent);
  std::size_t i = 0;
  for (; i + 1 < tokens.size(); i += 2) {
    h = mix((h + kStep) ^ (bits(tokens[i]) << 32 | bits(tokens[i + 1])));
  }
  if (i < tokens.size()) h = mix((h + kStep) ^ bits(tokens[i]));
  return BlockHash{h};
}

BlockHash hash_salt(std::uint64_t seed, std::string_view salt) {
  std::uint64_t h = mix(seed + kStep);
  for (const char c : salt) h = mix((h + kStep) ^ static_cast<unsigned char>(c));
  return BlockHash{h};
}

}  // namespace paceline
