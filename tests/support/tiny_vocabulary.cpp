#include "tests/support/tiny_vocabulary.h"

#include <string_view>

#include "tokenizer/byte_alphabet.h"

namespace paceline {
namespace {

void add_merge(TokenizerSpec& spec, std::string_view left, std::string_view right) {
  const std::string a = to_byte_alphabet(left);
  const std::string b = to_byte_alphabet(right);
  spec.merges.emplace_back(a, b);
  spec.tokens.push_back(a + b);
  spec.types.push_back(TokenType::kNormal);
}

void add_special(TokenizerSpec& spec, std::string_view text, TokenType type) {
  spec.tokens.emplace_back(text);
  spec.types.push_back(type);
}

}  // namespace

TokenizerSpec tiny_vocabulary() {
  TokenizerSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    spec.tokens.push_back(to_byte_alphabet({&c, 1}));
    spec.types.push_back(TokenType::kNormal);
  }
  add_merge(spec, "H", "e");
  add_merge(spec, "l", "l");
  add_merge(spec, "ll", "o");
  add_merge(spec, "He", "llo");
  add_merge(spec, " ", "He");
  add_merge(spec, "\xE4", "\xBD");
  add_merge(spec, "\xE4\xBD", "\xA0");
  add_special(spec, "<|endoftext|>", TokenType::kControl);
  add_special(spec, "<|im_start|>", TokenType::kControl);
  add_special(spec, "<|im_end|>", TokenType::kControl);
  add_special(spec, "<tool_call>", TokenType::kUserDefined);
  spec.pre_tokenizer = "qwen2";
  spec.end_ids = {265};
  return spec;
}

}  // namespace paceline
