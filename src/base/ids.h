#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace paceline {

// Distinct integer types, so that one kind of id cannot be passed for another. They order, compare
// and hash like their integer; `raw` gives it back.

/// Vocabulary entry; 0 … vocab_size-1.
enum class TokenId : std::int32_t {};
/// One token stream being computed; never reused within a process.
enum class SequenceId : std::uint64_t {};
/// One accepted client request (one or several sequences); never reused within a process.
enum class RequestId : std::uint64_t {};
/// Fixed-size piece of the KV cache; 0 … num_blocks-1.
enum class BlockId : std::int32_t {};
/// Index of a tenant in the registry; 0 is the default tenant `anonymous`.
enum class TenantId : std::uint32_t {};

/// Returns the integer behind an id.
template <typename Id>
requires std::is_enum_v<Id>
constexpr std::underlying_type_t<Id> raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

/// Returns a non-negative id as an index. Requires: raw(id) >= 0.
template <typename Id>
requires std::is_enum_v<Id>
constexpr std::size_t index_of(Id id) { return static_cast<std::size_t>(id); }

}  // namespace paceline
