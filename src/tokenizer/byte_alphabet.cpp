#include "tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline {
namespace {

constexpr std::size_t kNumCharacters = 0x100 + 68;  // one past the last character of the alphabet

struct Alphabet {
  std::array<std::uint16_t, 256> character_of_byte{};
  std::array<std::int16_t, kNumCharacters> byte_of_character{};  // -1 where there is none
};

constexpr bool is_printable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte_of_character) byte = -1;
  std::uint16_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint16_t character = is_printable(byte) ? static_cast<std::uint16_t>(byte) : next++;
    alphabet.character_of_byte[byte] = character;
    alphabet.byte_of_character[character] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const unsigned character = kAlphabet.character_of_byte[static_cast<unsigned char>(c)];
    if (character < 0x80) {
      out.push_back(static_cast<char>(character));
    } else {
      out.push_back(static_cast<char>(0xC0 | (character >> 6)));
      out.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    }
  }
  return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned character = static_cast<unsigned char>(text[i]);
    if (character >= 0x80) {
      // All characters of the alphabet beyond ASCII have two bytes.
      if ((character & 0xE0) != 0xC0 || ++i == text.size()) return std::nullopt;
      const unsigned low = static_cast<unsigned char>(text[i]);
      if ((low & 0xC0) != 0x80) return std::nullopt;
      character = (character & 0x1F) << 6 | (low & 0x3F);
      if (character < 0x80) return std::nullopt;
    }
    if (character >= kNumCharacters) return std::nullopt;
    const std::int16_t byte = kAlphabet.byte_of_character[character];
    if (byte < 0) return std::nullopt;
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

}  // namespace paceline
