#include "model/gguf_metadata.h"

#include <limits>
#include <utility>

#include "model/byte_reader.h"

namespace paceline {
namespace {

bool is_integer(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
      return true;
    default:
      return false;
  }
}

template <typename T>
std::int64_t read_as(ByteReader& reader) {
  return static_cast<std::int64_t>(reader.read<T>().value());
}

/// Reads one integer of a type whose bytes are known to be there; nothing when it exceeds int64.
std::optional<std::int64_t> read_integer(ByteReader& reader, GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
      return read_as<std::uint8_t>(reader);
    case GgufValueType::kInt8:
      return read_as<std::int8_t>(reader);
    case GgufValueType::kUint16:
      return read_as<std::uint16_t>(reader);
    case GgufValueType::kInt16:
      return read_as<std::int16_t>(reader);
    case GgufValueType::kUint32:
      return read_as<std::uint32_t>(reader);
    case GgufValueType::kInt32:
      return read_as<std::int32_t>(reader);
    case GgufValueType::kInt64:
      return read_as<std::int64_t>(reader);
    case GgufValueType::kUint64: {
      const auto value = reader.read<std::uint64_t>().value();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return std::nullopt;
      }
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::string describe(const GgufValue& value) {
  if (value.type != GgufValueType::kArray) return std::string(to_string(value.type));
  return "array of " + std::string(to_string(value.element_type));
}

tl::unexpected<Error> wrong_type(const std::string& file, std::string_view key,
                                 const GgufValue& value, std::string_view expected) {
  return fail(ErrorCode::kBadFile, file + ": key " + quote_name(key) + ": expected " +
                                       std::string(expected) + ", found " + describe(value));
}

tl::unexpected<Error> too_large(const std::string& file, std::string_view key) {
  return fail(ErrorCode::kBadFile, file + ": key " + quote_name(key) +
                                       ": expected a 64-bit signed integer, found a larger one");
}

}  // namespace

std::string_view to_string(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
      return "uint8";
    case GgufValueType::kInt8:
      return "int8";
    case GgufValueType::kUint16:
      return "uint16";
    case GgufValueType::kInt16:
      return "int16";
    case GgufValueType::kUint32:
      return "uint32";
    case GgufValueType::kInt32:
      return "int32";
    case GgufValueType::kFloat32:
      return "float32";
    case GgufValueType::kBool:
      return "bool";
    case GgufValueType::kString:
      return "string";
    case GgufValueType::kArray:
      return "array";
    case GgufValueType::kUint64:
      return "uint64";
    case GgufValueType::kInt64:
      return "int64";
    case GgufValueType::kFloat64:
      return "float64";
  }
  return "unknown type";
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

Result<std::optional<std::string_view>> GgufMetadata::find_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufValueType::kString) return wrong_type(file_, key, *value, "a string");
  return as_text(value->bytes);
}

Result<std::optional<std::int64_t>> GgufMetadata::find_integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_integer(value->type)) return wrong_type(file_, key, *value, "an integer");
  ByteReader reader(value->bytes);
  const std::optional<std::int64_t> integer = read_integer(reader, value->type);
  if (!integer) return too_large(file_, key);
  return integer;
}

Result<std::optional<double>> GgufMetadata::find_number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  ByteReader reader(value->bytes);
  if (value->type == GgufValueType::kFloat32) return static_cast<double>(*reader.read<float>());
  if (value->type == GgufValueType::kFloat64) return *reader.read<double>();
  return wrong_type(file_, key, *value, "a float");
}

Result<std::optional<std::vector<std::string_view>>> GgufMetadata::find_strings(
    std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufValueType::kArray || value->element_type != GgufValueType::kString) {
    return wrong_type(file_, key, *value, "an array of strings");
  }
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<std::size_t>(value->count));
  ByteReader reader(value->bytes);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    strings.push_back(as_text(reader.take(reader.read<std::uint64_t>().value()).value()));
  }
  return strings;
}

Result<std::optional<std::vector<std::int64_t>>> GgufMetadata::find_integers(
    std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufValueType::kArray || !is_integer(value->element_type)) {
    return wrong_type(file_, key, *value, "an array of integers");
  }
  std::vector<std::int64_t> integers;
  integers.reserve(static_cast<std::size_t>(value->count));
  ByteReader reader(value->bytes);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const std::optional<std::int64_t> integer = read_integer(reader, value->element_type);
    if (!integer) return too_large(file_, key);
    integers.push_back(*integer);
  }
  return integers;
}

}  // namespace paceline
