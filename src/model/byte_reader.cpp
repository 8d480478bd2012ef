#include "model/byte_reader.h"

namespace paceline {

std::string quote_name(std::string_view name) {
  constexpr std::size_t kMaxShown = 80;
  std::string text = "'";
  for (const char c : name.substr(0, kMaxShown)) text += c >= 0x20 && c < 0x7f ? c : '?';
  text += name.size() > kMaxShown ? "…'" : "'";
  return text;
}

}  // namespace paceline
