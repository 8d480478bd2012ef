// Tokenises texts from standard input with the vocabulary of a model file, for comparison with
// another tokenizer. Input: per text one byte, 0 plain or 1 parse special tokens, its length in
// bytes as a 32-bit number, the bytes. Output: per text the number of ids, then the ids, 32 bits
// each. Numbers are little endian. With `--seconds` it writes only the time that encoding took.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/real_vocabulary.h"
#include "tokenizer/bpe_tokenizer.h"

namespace paceline {
namespace {

bool read_number(std::istream& in, std::uint32_t& value) {
  std::array<char, 4> bytes{};
  if (!in.read(bytes.data(), bytes.size())) return false;
  std::memcpy(&value, bytes.data(), bytes.size());
  return true;
}

void write_number(std::ostream& out, std::uint32_t value) {
  std::array<char, 4> bytes{};
  std::memcpy(bytes.data(), &value, bytes.size());
  out.write(bytes.data(), bytes.size());
}

bool read_text(std::istream& in, TextSegment& text) {
  std::uint32_t length = 0;
  const int kind = in.get();
  if (kind == std::istream::traits_type::eof() || !read_number(in, length)) return false;
  text.special = kind == 0 ? SpecialText::kPlain : SpecialText::kParse;
  text.text.resize(length);
  return static_cast<bool>(in.read(text.text.data(), length));
}

int run(const char* model, bool only_time) {
  const auto tokenizer = make_bpe_tokenizer(read_vocabulary(model));
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  std::chrono::duration<double> spent{0};
  TextSegment text;
  while (read_text(std::cin, text)) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<TokenId> ids = (*tokenizer)->encode(text.text, text.special);
    spent += std::chrono::steady_clock::now() - start;
    if (only_time) continue;
    write_number(std::cout, static_cast<std::uint32_t>(ids.size()));
    for (const TokenId id : ids) write_number(std::cout, static_cast<std::uint32_t>(raw(id)));
  }
  if (only_time) std::cout << spent.count() << '\n';
  return 0;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  const bool only_time = argc == 3 && std::string_view(argv[2]) == "--seconds";
  if (argc != 2 && !only_time) {
    std::cerr << "usage: tokenize_file MODEL [--seconds] < texts > ids\n";
    return 2;
  }
  return paceline::run(argv[1], only_time);
}
