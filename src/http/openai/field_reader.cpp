#include "http/openai/field_reader.h"

#include <utility>

#include "http/openai/json_writer.h"

namespace paceline::openai {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

/// A number as messages show it; a long one is cut.
std::string shown_number(std::string_view digits) {
  constexpr std::size_t kLongest = 40;
  if (digits.size() <= kLongest) return std::string(digits);
  return std::string(digits.substr(0, kLongest)) + "…";
}

std::string shown(double value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

/// "between 1 and 5", "at least 1", …: the part of a range that is a real bound.
template <typename T>
std::string range_text(T min, T max, std::string_view unit) {
  const bool has_min = min > std::numeric_limits<T>::min();
  const bool has_max = max < std::numeric_limits<T>::max();
  std::string text = has_min && has_max
                         ? "between " + std::to_string(min) + " and " + std::to_string(max)
                     : has_min ? "at least " + std::to_string(min)
                               : "at most " + std::to_string(max);
  if (!unit.empty()) text.append(" ").append(unit);
  return text;
}

}  // namespace

std::string_view type_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kFalse:
    case JsonKind::kTrue:
      return "a boolean";
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "null";
}

FieldReader::FieldReader(JsonValue object, std::string path)
    : object_(object), path_(std::move(path)), read_(object.size(), false) {}

std::optional<JsonValue> FieldReader::take(std::string_view name) {
  if (error_) return std::nullopt;
  std::size_t i = 0;
  for (const auto& [key, found] : object_.members()) {
    if (key == name) {
      read_[i] = true;
      if (found.is_null()) return std::nullopt;
      return found;
    }
    ++i;
  }
  return std::nullopt;
}

void FieldReader::wrong_type(std::string_view name, std::string_view expected, JsonValue found) {
  fail(ErrorCode::kInvalidType, name,
       path(name) + " must be " + std::string(expected) + ", got " +
           std::string(type_name(found.kind())));
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const auto found = take(name);
  if (!found) return std::nullopt;
  if (!found->is_bool()) {
    wrong_type(name, "a boolean", *found);
    return std::nullopt;
  }
  return found->kind() == JsonKind::kTrue;
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, std::int64_t min,
                                                 std::int64_t max) {
  const auto found = take(name);
  if (!found) return std::nullopt;
  if (!found->is_number()) {
    wrong_type(name, "an integer", *found);
    return std::nullopt;
  }
  const auto number = found->to_int64();
  if (!number) {
    fail(ErrorCode::kInvalidType, name,
         path(name) + " must be an integer of at most 64 bits, without fraction or exponent, got " +
             shown_number(found->text()));
    return std::nullopt;
  }
  if (*number < min || *number > max) {
    fail(ErrorCode::kInvalidValue, name,
         path(name) + " must be " + range_text(min, max, "") + ", got " + std::to_string(*number));
    return std::nullopt;
  }
  return number;
}

std::optional<double> FieldReader::number(std::string_view name, double min, double max) {
  const auto found = take(name);
  if (!found) return std::nullopt;
  if (!found->is_number()) {
    wrong_type(name, "a number", *found);
    return std::nullopt;
  }
  const auto number = found->to_double();
  if (!number || *number < min || *number > max) {
    fail(ErrorCode::kInvalidValue, name,
         path(name) + " must be between " + shown(min) + " and " + shown(max) + ", got " +
             shown_number(found->text()));
    return std::nullopt;
  }
  return number;
}

std::optional<std::string> FieldReader::string(std::string_view name, std::size_t min_bytes,
                                               std::size_t max_bytes) {
  const auto found = take(name);
  if (!found) return std::nullopt;
  if (!found->is_string()) {
    wrong_type(name, "a string", *found);
    return std::nullopt;
  }
  const std::string_view text = found->text();
  if (text.size() < min_bytes || text.size() > max_bytes) {
    fail(ErrorCode::kInvalidValue, name,
         path(name) + " must have " + range_text(min_bytes, max_bytes, "bytes") + ", got " +
             std::to_string(text.size()));
    return std::nullopt;
  }
  return std::string(text);
}

std::optional<std::size_t> FieldReader::choice(std::string_view name,
                                               std::span<const std::string_view> values) {
  const auto text = string(name);
  if (!text) return std::nullopt;
  std::string known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == *text) return i;
    known.append(i == 0 ? "" : ", ").append(values[i]);
  }
  fail(ErrorCode::kInvalidValue, name,
       path(name) + " must be one of " + known + "; got " + quoted(text->substr(0, 64)));
  return std::nullopt;
}

std::optional<JsonValue> FieldReader::object(std::string_view name) {
  const auto found = take(name);
  if (found && !found->is_object()) {
    wrong_type(name, "an object", *found);
    return std::nullopt;
  }
  return found;
}

std::optional<JsonValue> FieldReader::array(std::string_view name, std::size_t min,
                                            std::size_t max) {
  const auto found = take(name);
  if (!found) return std::nullopt;
  if (!found->is_array()) {
    wrong_type(name, "an array", *found);
    return std::nullopt;
  }
  if (found->size() < min || found->size() > max) {
    fail(ErrorCode::kInvalidValue, name,
         path(name) + " must have " + range_text(min, max, "elements") + ", got " +
             std::to_string(found->size()));
    return std::nullopt;
  }
  return found;
}

std::optional<JsonValue> FieldReader::value(std::string_view name) { return take(name); }

std::string FieldReader::required_string(std::string_view name, std::size_t min_bytes) {
  const auto text = string(name, min_bytes);
  if (!text && ok()) missing(name);
  return text.value_or(std::string());
}

std::optional<JsonValue> FieldReader::required_array(std::string_view name, std::size_t min,
                                                     std::size_t max) {
  const auto found = array(name, min, max);
  if (!found && ok()) missing(name);
  return found;
}

void FieldReader::missing(std::string_view name) {
  fail(ErrorCode::kMissingRequiredParameter, name, path(name) + " is required");
}

void FieldReader::fail(ErrorCode code, std::string_view name, std::string message) {
  fail(Error{code, std::move(message), path(name)});
}

void FieldReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void FieldReader::refuse(std::string_view name) {
  if (take(name)) {
    fail(ErrorCode::kUnsupportedParameter, name, path(name) + " is not supported");
  }
}

std::string FieldReader::path(std::string_view name) const {
  if (path_.empty()) return std::string(name);
  if (name.empty()) return path_;
  return path_ + "." + std::string(name);
}

std::vector<std::string_view> FieldReader::unread() const {
  std::vector<std::string_view> names;
  if (error_) return names;
  std::size_t i = 0;
  for (const auto& member : object_.members()) {
    if (!read_[i++]) names.push_back(member.key);
  }
  return names;
}

void FieldReader::refuse_unread() {
  const auto names = unread();
  if (names.empty()) return;
  const std::string_view name = names.front().substr(0, 64);
  fail(Error{ErrorCode::kUnknownParameter, "unknown field " + quoted(path(name)), path(name)});
}

Result<void> FieldReader::result() const {
  if (error_) return tl::unexpected(*error_);
  return {};
}

}  // namespace paceline::openai
