#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace paceline {

/// Type of a metadata value; the numbers are GGUF's.
enum class GgufValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

/// Returns the name of a type as messages show it: `uint32`, `string`, ….
[[nodiscard]] std::string_view to_string(GgufValueType type);

/// One metadata value as it lies in the file, checked to be whole. `bytes` views the mapping: the
/// number, the text, or the elements of an array (strings with their 64-bit lengths).
struct GgufValue {
  GgufValueType type = GgufValueType::kUint8;
  GgufValueType element_type = GgufValueType::kUint8;  ///< of an array
  std::uint64_t count = 0;                             ///< elements of an array
  std::span<const std::byte> bytes;
};

/// The key-value section of a GGUF file with typed access. An absent key gives nullopt, a value of
/// another type an error. Views the file's mapping. Any thread.
class GgufMetadata {
 public:
  using Values = std::map<std::string_view, GgufValue>;

  /// `file` names the file in messages.
  GgufMetadata(std::string file, Values values)
      : file_(std::move(file)), values_(std::move(values)) {}

  // Errors of all: kBadFile naming file and key, the type found and the one expected.
  [[nodiscard]] Result<std::optional<std::string_view>> find_string(std::string_view key) const;
  /// Any integer type; a value beyond int64 is an error.
  [[nodiscard]] Result<std::optional<std::int64_t>> find_integer(std::string_view key) const;
  /// float32 or float64.
  [[nodiscard]] Result<std::optional<double>> find_number(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::vector<std::string_view>>> find_strings(
      std::string_view key) const;
  /// An array of any integer type.
  [[nodiscard]] Result<std::optional<std::vector<std::int64_t>>> find_integers(
      std::string_view key) const;

  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const Values& values() const { return values_; }

 private:
  [[nodiscard]] const GgufValue* find(std::string_view key) const;

  std::string file_;
  Values values_;
};

}  // namespace paceline
