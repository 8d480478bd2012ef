#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace paceline {

/// Hash of a block's tokens and all before them. Only a key: a hit is verified by tokens, so a
/// collision costs time and nothing else.
enum class BlockHash : std::uint64_t {};

/// Hashes the tokens of one block behind the prefix that `parent` stands for. A parameter of the
/// prefix cache, so that tests can make every block collide.
using BlockHashFunction = BlockHash (*)(BlockHash parent, std::span<const TokenId> tokens);

/// The usual BlockHashFunction: two tokens a round, mixed by the finaliser of SplitMix64 (Steele,
/// Lea, Flood 2014, "Fast splittable pseudorandom number generators", Fig. 16).
[[nodiscard]] BlockHash hash_block(BlockHash parent, std::span<const TokenId> tokens);

/// Start of a chain: the parent of first blocks. `seed` is the process's secret.
[[nodiscard]] BlockHash hash_salt(std::uint64_t seed, std::string_view salt);

}  // namespace paceline
