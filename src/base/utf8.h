#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paceline {

/// Returns whether `text` is well-formed UTF-8 (no overlong forms, no surrogates, at most
/// U+10FFFF). Source: Unicode 15, table 3-7.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// Returns how many bytes at the front form whole characters or bytes that can never become one;
/// the rest, at most three bytes, is the beginning of a character that more bytes could complete.
[[nodiscard]] std::size_t complete_utf8_length(std::string_view text);

/// Replaces each maximal ill-formed part by U+FFFD (Unicode 15, §3.9, "substitution of maximal
/// subparts").
[[nodiscard]] std::string to_lossy_utf8(std::string_view bytes);

}  // namespace paceline
