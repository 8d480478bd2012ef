#include "http/openai/json_writer.h"

#include <array>
#include <boost/json/serializer.hpp>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/utf8.h"

namespace paceline::openai {

void append_json_string(std::string& out, std::string_view text) {
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = to_lossy_utf8(text);
    text = repaired;
  }
  boost::json::serializer serializer;
  serializer.reset(boost::json::string_view(text.data(), text.size()));
  std::array<char, 512> buffer;
  while (!serializer.done()) {
    const auto part = serializer.read(buffer.data(), buffer.size());
    out.append(part.data(), part.size());
  }
}

void append_json_number(std::string& out, double value) {
  DCHECK(std::isfinite(value));
  constexpr double kExactIntegers = 1e15;  // written without an exponent below
  std::array<char, 32> buffer;
  char* const end = buffer.data() + buffer.size();
  const bool is_whole = std::abs(value) < kExactIntegers && std::trunc(value) == value;
  const auto result = is_whole ? std::to_chars(buffer.data(), end, std::llround(value))
                               : std::to_chars(buffer.data(), end, value);
  out.append(buffer.data(), result.ptr);
}

void JsonWriter::comma() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  comma();
  out_ += '{';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  out_ += '}';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  comma();
  out_ += '[';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  out_ += ']';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  comma();
  out_ += '"';
  out_ += name;
  out_ += "\":";
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::escaped_key(std::string_view name) {
  comma();
  append_json_string(out_, name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  comma();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  comma();
  std::array<char, 24> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out_.append(buffer.data(), result.ptr);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  comma();
  append_json_number(out_, value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  comma();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  comma();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  comma();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::string_or_null(std::string_view name, const std::string* text) {
  return text == nullptr ? null(name) : string(name, *text);
}

}  // namespace paceline::openai
