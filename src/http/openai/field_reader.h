#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/openai/json_document.h"

namespace paceline::openai {

/// Reads the fields of one JSON object with the exact errors of API.md §1.1 and §1.6. `null` is the
/// same as absent. The first error sticks: later reads return nothing, so a parser reads all fields
/// in a row and asks once at the end. One request, one thread; the document must outlive it.
class FieldReader {
 public:
  /// `path` is where the object stands, such as `messages[2]`; empty for the body.
  FieldReader(JsonValue object, std::string path);

  [[nodiscard]] std::optional<bool> boolean(std::string_view name);
  /// An integer without fraction or exponent in [min, max].
  [[nodiscard]] std::optional<std::int64_t> integer(
      std::string_view name, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
      std::int64_t max = std::numeric_limits<std::int64_t>::max());
  /// A finite number in [min, max].
  [[nodiscard]] std::optional<double> number(std::string_view name, double min, double max);
  /// A string of min … max bytes.
  [[nodiscard]] std::optional<std::string> string(
      std::string_view name, std::size_t min_bytes = 0,
      std::size_t max_bytes = std::numeric_limits<std::size_t>::max());
  /// One of the given strings, as its index.
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view name,
                                                  std::span<const std::string_view> values);
  [[nodiscard]] std::optional<JsonValue> object(std::string_view name);
  /// An array of min … max elements.
  [[nodiscard]] std::optional<JsonValue> array(
      std::string_view name, std::size_t min = 0,
      std::size_t max = std::numeric_limits<std::size_t>::max());
  /// A value of any type but null.
  [[nodiscard]] std::optional<JsonValue> value(std::string_view name);

  /// Like string(), but missing_required_parameter when it is absent.
  [[nodiscard]] std::string required_string(std::string_view name, std::size_t min_bytes = 0);
  [[nodiscard]] std::optional<JsonValue> required_array(
      std::string_view name, std::size_t min = 0,
      std::size_t max = std::numeric_limits<std::size_t>::max());
  /// Records missing_required_parameter for a field of any type.
  void missing(std::string_view name);

  /// Records an error on a field of this object; an empty name means the object itself.
  void fail(ErrorCode code, std::string_view name, std::string message);
  /// Takes over an error from elsewhere.
  void fail(Error error);
  /// Refuses the field with unsupported_parameter unless it is absent.
  void refuse(std::string_view name);

  /// Path of a field of this object, such as `messages[2].role`.
  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  /// Keys that no read has asked for, in the order of the text. Empty after an error.
  [[nodiscard]] std::vector<std::string_view> unread() const;
  /// Refuses keys that no read has asked for with unknown_parameter.
  void refuse_unread();
  /// The first error, if any.
  [[nodiscard]] Result<void> result() const;

 private:
  std::optional<JsonValue> take(std::string_view name);
  void wrong_type(std::string_view name, std::string_view expected, JsonValue found);

  JsonValue object_;
  std::string path_;
  std::vector<bool> read_;  // per member
  std::optional<Error> error_;
};

/// "a string", "an array", …: the JSON type of a value as messages name it.
[[nodiscard]] std::string_view type_name(JsonKind kind);

}  // namespace paceline::openai
