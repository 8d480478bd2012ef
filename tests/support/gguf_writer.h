#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf_metadata.h"
#include "model/tensor_type.h"

namespace paceline {

/// Builds GGUF files byte by byte, right ones and, for the tests of the reader, wrong ones. Keys
/// and tensors keep their order; setting a key again replaces its value.
class GgufWriter {
 public:
  /// A tensor as it is listed in the file.
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dimensions;  ///< innermost first
    std::uint32_t type = 0;                 ///< GGUF's number
    std::string bytes;
  };

  /// Sets a number of exactly type T: uint8 … int64, float, double, bool.
  template <typename T>
  void set(std::string_view key, T value) {
    set_raw(key, type_number<T>(), raw_bytes(value));
  }
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, const std::vector<std::string>& values);
  void set_int32s(std::string_view key, const std::vector<std::int32_t>& values);
  /// Sets a value by type number and bytes, however wrong.
  void set_raw(std::string_view key, std::uint32_t type, std::string bytes);
  void remove_key(std::string_view key);

  void add_tensor(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  void remove_tensor(std::string_view name);
  /// Requires: there is such a tensor.
  [[nodiscard]] Tensor& tensor(std::string_view name);
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

  void set_version(std::uint32_t version) { version_ = version; }

  /// Returns the whole file. Tensors start at multiples of 32 bytes.
  [[nodiscard]] std::string bytes() const;
  void write(const std::filesystem::path& path) const;

  /// Little-endian bytes of a number.
  template <typename T>
  [[nodiscard]] static std::string raw_bytes(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  /// A string as GGUF stores it: 64-bit length, then the bytes.
  [[nodiscard]] static std::string raw_string(std::string_view text);

 private:
  struct Value {
    std::string key;
    std::uint32_t type;
    std::string bytes;
  };

  template <typename T>
  static constexpr std::uint32_t type_number() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
    if constexpr (std::is_same_v<T, std::int8_t>) return 1;
    if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
    if constexpr (std::is_same_v<T, std::int16_t>) return 3;
    if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
    if constexpr (std::is_same_v<T, std::int32_t>) return 5;
    if constexpr (std::is_same_v<T, float>) return 6;
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
    if constexpr (std::is_same_v<T, std::int64_t>) return 11;
    if constexpr (std::is_same_v<T, double>) return 12;
  }

  std::uint32_t version_ = 3;
  std::vector<Value> values_;
  std::vector<Tensor> tensors_;
};

/// Writes bytes to a file, replacing it. Throws std::runtime_error.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace paceline
