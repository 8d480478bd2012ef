#include "http/random_ids.h"

#include <cstdint>
#include <random>

namespace paceline {
namespace {

std::uint64_t random_bits() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

}  // namespace

std::string random_object_id(openai::IdKind kind) {
  return openai::make_id(kind, [] { return random_bits(); });
}

std::string random_hex(std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i, bits >>= 4) {
    if (i % 16 == 0) bits = random_bits();
    text.push_back(kDigits[bits & 15]);
  }
  if (text.find_first_not_of('0') == std::string::npos) text.back() = '1';
  return text;
}

}  // namespace paceline
