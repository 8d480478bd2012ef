#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::openai {

/// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// Appends the shortest form that reads back as the same number, whole numbers below 10^15 as
/// integers. Requires: finite.
void append_json_number(std::string& out, double value);

/// Writes JSON text without white space at the end of a string; places the commas. The caller
/// closes what it opens. One thread.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  /// Requires: `name` needs no escapes.
  JsonWriter& key(std::string_view name);
  /// A key that may need escapes.
  JsonWriter& escaped_key(std::string_view name);

  JsonWriter& string(std::string_view text);
  JsonWriter& integer(std::int64_t value);
  /// Requires: finite.
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  /// A value that is JSON text already.
  JsonWriter& raw(std::string_view json);

  /// Members of the object that is open.
  JsonWriter& string(std::string_view name, std::string_view text) {
    return key(name).string(text);
  }
  JsonWriter& integer(std::string_view name, std::int64_t value) {
    return key(name).integer(value);
  }
  JsonWriter& number(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& boolean(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& null(std::string_view name) { return key(name).null(); }
  JsonWriter& raw(std::string_view name, std::string_view json) { return key(name).raw(json); }
  /// The text, or null when `text` is.
  JsonWriter& string_or_null(std::string_view name, const std::string* text);

 private:
  void comma();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace paceline::openai
