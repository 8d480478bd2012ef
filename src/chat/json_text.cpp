#include "chat/json_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <vector>

namespace paceline {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\b':
      out += "\\b";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20) {
    out += c;
    return;
  }
  constexpr char kHexDigits[] = "0123456789abcdef";
  out += "\\u00";
  out += kHexDigits[c >> 4];
  out += kHexDigits[c & 0xF];
}

void append_code_point(std::string& out, std::uint32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    append_escaped(out, static_cast<char>(c));
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | (c >> 6)), tail(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0)};
  } else {
    out += {static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0)};
  }
}

// Appends a float as Python's repr: plain decimals for exponents from -4 to 15, else scientific.
void append_float(std::string& out, std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc()) {
    out += number;
    return;
  }
  std::array<char, 64> buffer{};
  const auto print = [&buffer, value](std::chars_format format) {
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
    return std::string_view(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
  };
  const std::string_view scientific = print(std::chars_format::scientific);
  const std::string_view exponent_text = scientific.substr(scientific.find('e') + 1);
  int exponent = 0;
  std::from_chars(exponent_text.data() + (exponent_text.front() == '+' ? 1 : 0),
                  exponent_text.data() + exponent_text.size(), exponent);
  if (exponent < -4 || exponent >= 16) {
    out += scientific;
    return;
  }
  const std::string_view fixed = print(std::chars_format::fixed);
  out += fixed;
  if (fixed.find('.') == std::string_view::npos) out += ".0";
}

/// Reads one JSON document from left to right and writes it anew. Nesting is kept on a heap stack,
/// so deep documents are no danger.
class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) { out_.reserve(text.size() * 5 / 4); }

  std::optional<std::string> run() {
    for (skip_space(); pos_ < text_.size(); skip_space()) {
      if (!step()) return std::nullopt;
    }
    if (expected_ != Expected::kEnd) return std::nullopt;
    return std::move(out_);
  }

 private:
  enum class Expected { kValue, kValueOrClose, kKey, kKeyOrClose, kCommaOrClose, kEnd };

  // Reads one bracket, comma, key with its colon, or scalar.
  bool step() {
    const char c = text_[pos_];
    const bool may_close = expected_ == Expected::kValueOrClose ||
                           expected_ == Expected::kKeyOrClose ||
                           expected_ == Expected::kCommaOrClose;
    if (may_close && c == open_.back()) {
      open_.pop_back();
      take(c);
      return value_done();
    }
    switch (expected_) {
      case Expected::kValue:
      case Expected::kValueOrClose:
        return read_value(c);
      case Expected::kKey:
      case Expected::kKeyOrClose:
        return read_key();
      case Expected::kCommaOrClose:
        if (c != ',') return false;
        ++pos_;
        out_ += ", ";
        expected_ = open_.back() == '}' ? Expected::kKey : Expected::kValue;
        return true;
      case Expected::kEnd:
        return false;
    }
    return false;
  }

  bool read_value(char c) {
    switch (c) {
      case '{':
        open_.push_back('}');
        take(c);
        expected_ = Expected::kKeyOrClose;
        return true;
      case '[':
        open_.push_back(']');
        take(c);
        expected_ = Expected::kValueOrClose;
        return true;
      case '"':
        return read_string() && value_done();
      default:
        return (read_word() || read_number()) && value_done();
    }
  }

  bool read_key() {
    if (text_[pos_] != '"' || !read_string()) return false;
    skip_space();
    if (pos_ == text_.size() || text_[pos_] != ':') return false;
    ++pos_;
    out_ += ": ";
    expected_ = Expected::kValue;
    return true;
  }

  bool read_string() {
    take('"');
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '"') {
        take(c);
        return true;
      }
      if (c == '\\') {
        if (!read_escape()) return false;
      } else {
        take(c);
      }
    }
    return false;
  }

  bool read_escape() {
    if (text_.size() - pos_ < 2) return false;
    const char kind = text_[pos_ + 1];
    if (kind == 'u') return read_unicode_escape();
    constexpr std::string_view kKinds = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const std::size_t i = kKinds.find(kind);
    if (i == std::string_view::npos) return false;
    append_escaped(out_, kCharacters[i]);
    pos_ += 2;
    return true;
  }

  bool read_unicode_escape() {
    const auto high = read_code_unit();
    if (!high || (*high >= 0xDC00 && *high < 0xE000)) return false;
    if (*high < 0xD800 || *high >= 0xE000) {
      append_code_point(out_, *high);
      return true;
    }
    const auto low = read_code_unit();
    if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
    append_code_point(out_, 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
    return true;
  }

  // Reads `\uXXXX`.
  std::optional<std::uint32_t> read_code_unit() {
    constexpr std::size_t kLength = 6;
    const std::string_view escape = text_.substr(pos_, kLength);
    if (escape.size() < kLength || !escape.starts_with("\\u")) return std::nullopt;
    std::uint32_t unit = 0;
    const char* const end = escape.data() + kLength;
    const auto result = std::from_chars(escape.data() + 2, end, unit, 16);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    pos_ += kLength;
    return unit;
  }

  bool read_word() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(pos_).starts_with(word)) continue;
      out_ += word;
      pos_ += word.size();
      return true;
    }
    return false;
  }

  bool read_number() {
    const std::size_t start = pos_;
    if (peek() == '-') ++pos_;
    const std::size_t first_digit = pos_;
    if (!skip_digits()) return false;
    if (text_[first_digit] == '0' && pos_ - first_digit > 1) return false;
    bool is_float = false;
    if (peek() == '.') {
      is_float = true;
      ++pos_;
      if (!skip_digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      is_float = true;
      ++pos_;
      if (peek() == '+' || peek() == '-') ++pos_;
      if (!skip_digits()) return false;
    }
    const std::string_view number = text_.substr(start, pos_ - start);
    if (is_float) {
      append_float(out_, number);
    } else {
      out_ += number == "-0" ? "0" : number;
    }
    return true;
  }

  bool skip_digits() {
    const std::size_t start = pos_;
    while (peek() >= '0' && peek() <= '9') ++pos_;
    return pos_ > start;
  }

  void skip_space() {
    while (pos_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[pos_]) != std::string_view::npos) {
      ++pos_;
    }
  }

  // The character at the position, NUL at the end.
  [[nodiscard]] char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }

  void take(char c) {
    out_ += c;
    ++pos_;
  }

  bool value_done() {
    expected_ = open_.empty() ? Expected::kEnd : Expected::kCommaOrClose;
    return true;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::string out_;
  std::vector<char> open_;  // closing brackets still to come
  Expected expected_ = Expected::kValue;
};

}  // namespace

std::optional<std::string> to_python_json(std::string_view text) { return Rewriter(text).run(); }

std::string to_json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) append_escaped(out, c);
  return out + '"';
}

}  // namespace paceline
