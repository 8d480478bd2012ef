#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// Byte-level BPE writes each of the 256 bytes as one printable character: the bytes 0x21–0x7E,
// 0xA1–0xAC and 0xAE–0xFF as the character of that number, the other 68 in order as U+0100, U+0101,
// …. A space becomes `Ġ` (U+0120), a newline `Ċ` (U+010A).

/// Writes bytes in the byte-level alphabet, as UTF-8: one or two bytes per byte.
[[nodiscard]] std::string to_byte_alphabet(std::string_view bytes);

/// Returns the bytes that `text` stands for; nothing when a character is not of the alphabet.
[[nodiscard]] std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace paceline
