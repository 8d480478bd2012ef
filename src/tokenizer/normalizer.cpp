#include "tokenizer/normalizer.h"

#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/check.h"

namespace paceline {
namespace {

using CodePoint = utf8proc_int32_t;

struct Range {
  CodePoint first;
  CodePoint last;
};

// Starters that are equal to their normal form and never join the character before them. A mark
// may still join them. Only the frequent blocks: other characters just take the longer way.
constexpr std::array kSettledRanges = {
    Range{0x0000, 0x02FF},   Range{0x0388, 0x0482},  // Latin; Greek, Cyrillic
    Range{0x0531, 0x0587},   Range{0x0620, 0x064A},  // Armenian; Arabic letters
    Range{0x2010, 0x2027},   Range{0x2030, 0x205E},  // punctuation
    Range{0x2190, 0x21FF},   Range{0x2500, 0x27BF},  // arrows; box drawing, symbols
    Range{0x3000, 0x3029},   Range{0x3041, 0x3096},  // CJK punctuation; hiragana
    Range{0x30A0, 0x30FF},   Range{0x3400, 0x9FFF},  // katakana; Han
    Range{0xAC00, 0xD7A3},   Range{0xFF00, 0xFFEF},  // Hangul; full-width forms
    Range{0x1F300, 0x1F9FF},                         // emoji
};

// Characters newer than Unicode 9 that its later tables reorder, decompose or compose: combining
// marks, composites, and the parts of composites. Found by comparing the Hugging Face tokenizers
// with the tables of Unicode 18.
constexpr std::array kOpaqueRanges = {
    Range{0x05C8, 0x05C9},   Range{0x07FD, 0x07FD},   Range{0x0897, 0x089F},
    Range{0x08CA, 0x08D3},   Range{0x09FE, 0x09FE},   Range{0x0C3C, 0x0C3C},
    Range{0x0D3B, 0x0D3C},   Range{0x0EBA, 0x0EBA},   Range{0x1715, 0x1715},
    Range{0x1ABF, 0x1AF0},   Range{0x1DF6, 0x1DFA},   Range{0xA82C, 0xA82C},
    Range{0x105C9, 0x105C9}, Range{0x105D2, 0x105D2}, Range{0x105DA, 0x105DA},
    Range{0x105E4, 0x105E4}, Range{0x10D24, 0x10D27}, Range{0x10D69, 0x10D6D},
    Range{0x10EAB, 0x10EAC}, Range{0x10ECB, 0x10ECF}, Range{0x10EF0, 0x10EFB},
    Range{0x10EFD, 0x10EFF}, Range{0x10F46, 0x10F50}, Range{0x10F82, 0x10F85},
    Range{0x11070, 0x11070}, Range{0x1133B, 0x1133B}, Range{0x11382, 0x11385},
    Range{0x1138B, 0x1138B}, Range{0x1138E, 0x1138E}, Range{0x11390, 0x11391},
    Range{0x113B8, 0x113B8}, Range{0x113BB, 0x113BB}, Range{0x113C2, 0x113C9},
    Range{0x113CE, 0x113D0}, Range{0x1145E, 0x1145E}, Range{0x11839, 0x1183A},
    Range{0x11930, 0x11930}, Range{0x11935, 0x11935}, Range{0x11938, 0x11938},
    Range{0x1193D, 0x1193E}, Range{0x11943, 0x11943}, Range{0x119E0, 0x119E0},
    Range{0x11A34, 0x11A34}, Range{0x11A47, 0x11A47}, Range{0x11A99, 0x11A99},
    Range{0x11D42, 0x11D42}, Range{0x11D44, 0x11D45}, Range{0x11D97, 0x11D97},
    Range{0x11F41, 0x11F42}, Range{0x1611E, 0x16129}, Range{0x1612F, 0x1612F},
    Range{0x16D63, 0x16D63}, Range{0x16D67, 0x16D6A}, Range{0x16FF0, 0x16FF1},
    Range{0x1D127, 0x1D128}, Range{0x1D250, 0x1D252}, Range{0x1D25B, 0x1D25C},
    Range{0x1D25F, 0x1D25F}, Range{0x1D280, 0x1D281}, Range{0x1E08F, 0x1E08F},
    Range{0x1E130, 0x1E136}, Range{0x1E2AE, 0x1E2AE}, Range{0x1E2EC, 0x1E2EF},
    Range{0x1E4EC, 0x1E4EF}, Range{0x1E5EE, 0x1E5EF}, Range{0x1E6E3, 0x1E6E3},
    Range{0x1E6E6, 0x1E6E6}, Range{0x1E6EE, 0x1E6EF}, Range{0x1E6F5, 0x1E6F5},
};

bool contains(std::span<const Range> ranges, CodePoint c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](CodePoint x, const Range& r) { return x < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

struct Character {
  CodePoint code_point;
  std::size_t length;  // bytes
};

Character character_at(std::string_view text, std::size_t pos) {
  const auto lead = static_cast<unsigned char>(text[pos]);
  if (lead < 0x80) return {lead, 1};
  CodePoint code_point = 0;
  const auto length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + pos,
                       static_cast<utf8proc_ssize_t>(text.size() - pos), &code_point);
  CHECK(length > 0);
  return {code_point, static_cast<std::size_t>(length)};
}

utf8proc_propval_t combining_class(CodePoint c) {
  return utf8proc_get_property(c)->combining_class;
}

std::vector<CodePoint> decomposed(std::string_view text) {
  constexpr utf8proc_ssize_t kLongestDecomposition = 18;
  std::vector<CodePoint> out;
  out.reserve(text.size());
  std::array<CodePoint, kLongestDecomposition> parts{};
  for (std::size_t pos = 0; pos < text.size();) {
    const Character c = character_at(text, pos);
    const auto count = utf8proc_decompose_char(c.code_point, parts.data(), kLongestDecomposition,
                                               UTF8PROC_DECOMPOSE, nullptr);
    CHECK(count > 0 && count <= kLongestDecomposition);
    out.insert(out.end(), parts.begin(), parts.begin() + count);
    pos += c.length;
  }
  return out;
}

// Brings every run of marks into the order of their classes. utf8proc does it by exchanging
// neighbours, which is quadratic in the length of a run.
void sort_marks(std::vector<CodePoint>& text) {
  const auto is_mark = [](CodePoint c) { return combining_class(c) != 0; };
  for (auto run = text.begin(); run != text.end();) {
    run = std::find_if(run, text.end(), is_mark);
    const auto end = std::find_if_not(run, text.end(), is_mark);
    std::stable_sort(
        run, end, [](CodePoint a, CodePoint b) { return combining_class(a) < combining_class(b); });
    run = end;
  }
}

void append_normalized(std::string_view text, std::string& out) {
  std::vector<CodePoint> code_points = decomposed(text);
  sort_marks(code_points);
  const auto count = utf8proc_normalize_utf32(
      code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  CHECK(count >= 0);
  code_points.resize(static_cast<std::size_t>(count));
  for (const CodePoint c : code_points) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto length = utf8proc_encode_char(c, bytes.data());
    out.append(bytes.begin(), bytes.begin() + length);
  }
}

enum class Kind { kSettled, kOpaque, kOther };

Kind kind_of(CodePoint c) {
  if (c < 0x300 || contains(kSettledRanges, c)) return Kind::kSettled;
  return contains(kOpaqueRanges, c) ? Kind::kOpaque : Kind::kOther;
}

// Returns the end of the run of kOther characters that starts at `pos`.
std::size_t end_of_run(std::string_view text, std::size_t pos) {
  while (pos < text.size()) {
    const Character c = character_at(text, pos);
    if (kind_of(c.code_point) != Kind::kOther) break;
    pos += c.length;
  }
  return pos;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  // Normalises only the islands between characters that nothing can change: one settled character,
  // which marks may join, and the run of others after it.
  storage.clear();
  std::size_t copied = 0;
  std::size_t island = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    const Character c = character_at(text, pos);
    const Kind kind = kind_of(c.code_point);
    if (kind != Kind::kOther) {
      island = kind == Kind::kSettled ? pos : pos + c.length;
      pos += c.length;
      continue;
    }
    const std::size_t end = end_of_run(text, pos);
    storage.append(text.substr(copied, island - copied));
    append_normalized(text.substr(island, end - island), storage);
    copied = island = pos = end;
  }
  if (copied == 0) return text;
  storage.append(text.substr(copied));
  return storage;
}

}  // namespace paceline
