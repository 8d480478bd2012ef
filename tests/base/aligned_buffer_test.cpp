#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace paceline {
namespace {

TEST(AlignedBufferTest, NewElementsAreZeroAndAligned) {
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{4096}, kHugePageBytes}) {
    const AlignedBuffer<std::int32_t> buffer(1000, alignment);

    EXPECT_EQ(buffer.size(), 1000U);
    EXPECT_EQ(buffer.size_bytes(), 4000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0U);
    EXPECT_EQ(std::count(buffer.span().begin(), buffer.span().end(), 0), 1000);
  }
}

TEST(AlignedBufferTest, BufferForOverwriteHasTheSameShape) {
  auto buffer = AlignedBuffer<float>::for_overwrite(33);

  std::fill(buffer.span().begin(), buffer.span().end(), 2.0F);

  EXPECT_EQ(buffer.size(), 33U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
  EXPECT_EQ(buffer[32], 2.0F);
}

TEST(AlignedBufferTest, EmptyBufferHasNoMemory) {
  const AlignedBuffer<float> buffer(0);

  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(AlignedBufferTest, MovingHandsTheMemoryOver) {
  AlignedBuffer<int> from(10);
  from[9] = 7;
  const int* memory = from.data();

  const AlignedBuffer<int> to = std::move(from);

  EXPECT_EQ(to.data(), memory);
  EXPECT_EQ(to[9], 7);
}

TEST(AlignedBufferTest, SizeThatDoesNotFitTheAddressSpaceThrows) {
  const std::size_t too_many = std::numeric_limits<std::size_t>::max() / sizeof(double);

  EXPECT_THROW(AlignedBuffer<double>{too_many}, std::bad_alloc);
}

}  // namespace
}  // namespace paceline
