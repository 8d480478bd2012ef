#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paceline {

static_assert(std::endian::native == std::endian::little,
              "model files are little endian and read without conversion");

/// Cursor over bytes of a file. Every read is checked against the end first and gives nothing, and
/// moves nothing, when the bytes are not there.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }

  /// Reads a number of type T.
  template <typename T>
  [[nodiscard]] std::optional<T> read() {
    if (remaining() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// Views the next `count` bytes.
  [[nodiscard]] std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

/// Views bytes as text.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Quotes a name from a file for a one-line message: at most 80 bytes, control and non-ASCII bytes
/// as `?`.
[[nodiscard]] std::string quote_name(std::string_view name);

/// Returns a · b; nothing when it does not fit.
[[nodiscard]] inline std::optional<std::uint64_t> checked_multiply(std::uint64_t a,
                                                                   std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace paceline
