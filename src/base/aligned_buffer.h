#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "base/check.h"

namespace paceline {

/// Alignment of buffers that are streamed: one huge page of x86-64 and of AArch64 with 4 KiB pages.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

namespace detail {

/// Allocates `bytes` bytes for std::free; with an alignment of kHugePageBytes or more the system is
/// asked for huge pages, which it may ignore. Throws std::bad_alloc. Requires: bytes is a multiple
/// of alignment, a power of two.
[[nodiscard]] void* allocate_aligned(std::size_t bytes, std::size_t alignment);

}  // namespace detail

/// Owning array of trivial elements, aligned for vector loads (64 bytes) or for huge pages.
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  AlignedBuffer() = default;
  /// Allocates `size` zeroed elements. Throws std::bad_alloc. Requires: alignment is a power of two
  /// >= 64.
  explicit AlignedBuffer(std::size_t size, std::size_t alignment = 64)
      : AlignedBuffer(for_overwrite(size, alignment)) {
    if (size != 0) std::memset(data_.get(), 0, size_bytes());
  }
  /// The same without zeroing: memory becomes resident where it is written.
  [[nodiscard]] static AlignedBuffer for_overwrite(std::size_t size, std::size_t alignment = 64) {
    DCHECK(alignment >= 64 && (alignment & (alignment - 1)) == 0);
    AlignedBuffer buffer;
    if (size == 0) return buffer;
    if (size > (static_cast<std::size_t>(-1) - alignment) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = (size * sizeof(T) + alignment - 1) / alignment * alignment;
    buffer.data_.reset(static_cast<T*>(detail::allocate_aligned(bytes, alignment)));
    buffer.size_ = size;
    return buffer;
  }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_ * sizeof(T); }
  [[nodiscard]] std::span<T> span() { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const T> span() const { return {data_.get(), size_}; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace paceline
