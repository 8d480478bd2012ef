#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace paceline {
namespace {

TEST(ByteAlphabetTest, EveryByteHasItsOwnCharacterAndComesBack) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));

    const std::string text = to_byte_alphabet(bytes);

    EXPECT_TRUE(characters.insert(text).second) << byte;
    EXPECT_EQ(from_byte_alphabet(text), bytes);
  }
}

TEST(ByteAlphabetTest, SpaceNewlineAndLettersHaveTheirUsualCharacters) {
  EXPECT_EQ(to_byte_alphabet(" a\n\xE4"), "\u0120a\u010A\u00E4");
  EXPECT_EQ(to_byte_alphabet("\x7F\xAD"), "\u0121\u0143");
}

TEST(ByteAlphabetTest, TextOffTheAlphabetIsRefused) {
  for (const char* text : {"a b", "\n", "\u0144", "\u4F60", "\xC4", "\xC0\x80", "\xFF", "\u00AD"}) {
    EXPECT_EQ(from_byte_alphabet(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace paceline
