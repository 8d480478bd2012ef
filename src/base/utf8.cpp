#include "base/utf8.h"

#include <cstdint>

namespace paceline {
namespace {

enum class Kind { kWhole, kIllFormed, kTruncated };

struct Unit {
  Kind kind;
  std::size_t length;  // bytes; for an ill-formed part the maximal subpart
};

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Reads the character or the maximal ill-formed subpart at `pos`. Requires: pos < text.size().
Unit read_unit(std::string_view text, std::size_t pos) {
  const unsigned char lead = byte_at(text, pos);
  if (lead < 0x80) return {Kind::kWhole, 1};
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;  // bounds of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {Kind::kIllFormed, 1};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (pos + i == text.size()) return {Kind::kTruncated, i};
    const unsigned char byte = byte_at(text, pos + i);
    if (byte < low || byte > high) return {Kind::kIllFormed, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Kind::kWhole, length};
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (std::size_t pos = 0; pos < text.size();) {
    const Unit unit = read_unit(text, pos);
    if (unit.kind != Kind::kWhole) return false;
    pos += unit.length;
  }
  return true;
}

std::size_t complete_utf8_length(std::string_view text) {
  // Only the last three bytes can belong to an unfinished character.
  const std::size_t from = text.size() > 3 ? text.size() - 3 : 0;
  for (std::size_t pos = from; pos < text.size(); ++pos) {
    const bool is_lead = byte_at(text, pos) >= 0xC0;
    if (is_lead && read_unit(text, pos).kind == Kind::kTruncated) return pos;
  }
  return text.size();
}

std::string to_lossy_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t pos = 0; pos < bytes.size();) {
    const Unit unit = read_unit(bytes, pos);
    if (unit.kind == Kind::kWhole) {
      out.append(bytes.substr(pos, unit.length));
    } else {
      out.append("\xEF\xBF\xBD");
    }
    pos += unit.length;
  }
  return out;
}

}  // namespace paceline
