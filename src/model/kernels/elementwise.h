#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace paceline {

/// Bodies of the kernels that are not products of matrices, written once over a type of 16 lanes
/// (ScalarLanes, Avx2Lanes, Avx512Lanes) and instantiated in the file of each instruction set: the
/// same operations in the same order, so the same bits. Contracts are those of KernelTable.
///
/// Only templates over the lane type may stand here: anything else would be compiled several times
/// with different instruction sets and merged by the linker.
template <typename Lanes>
struct Elementwise {
  static constexpr int kLanes = 16;
  static constexpr int kMaxBlock = 128;
  /// Below this a row counts as zero: 127 / max must not overflow.
  static constexpr float kZeroMagnitude = 1e-30F;
  static constexpr float kLargestFinite = std::numeric_limits<float>::max();
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

  /// e^x for -87 ≤ x ≤ 87 (values outside are clamped, NaN becomes e^87).
  /// x = n·ln 2 + r with |r| ≤ ln 2 / 2; ln 2 is split so that n · kLn2High is exact (15 bits times
  /// 7). The Taylor polynomial of degree 7 leaves r^8 / 8! < 5.3e-9, below half a unit in the last
  /// place (6e-8); what remains is rounding, about 1.5 units.
  static Lanes exp(Lanes x) {
    constexpr float kLimit = 87.0F;
    constexpr float kLog2E = 0x1.715476p+0F;
    constexpr float kLn2High = 0x1.62e4p-1F;
    constexpr float kLn2Low = 0x1.7f7d1cp-20F;
    x = max(min(x, Lanes::broadcast(kLimit)), Lanes::broadcast(-kLimit));
    const Lanes n = round_to_even(x * Lanes::broadcast(kLog2E));
    const Lanes r = (x - n * Lanes::broadcast(kLn2High)) - n * Lanes::broadcast(kLn2Low);
    Lanes p = Lanes::broadcast(1.0F / 5040.0F);
    p = p * r + Lanes::broadcast(1.0F / 720.0F);
    p = p * r + Lanes::broadcast(1.0F / 120.0F);
    p = p * r + Lanes::broadcast(1.0F / 24.0F);
    p = p * r + Lanes::broadcast(1.0F / 6.0F);
    p = p * r + Lanes::broadcast(0.5F);
    p = p * (r * r) + r;
    return (p + Lanes::broadcast(1.0F)) * power_of_two(n);
  }

  static void rms_norm(const float* x, const float* weight, int n, float eps, float* y) {
    Lanes squares = Lanes::zero();
    for_each_chunk(n, [&](int i, auto load, auto) {
      const Lanes v = load(x + i);
      squares = squares + v * v;
    });
    const float mean = squares.sum() / static_cast<float>(n);
    const Lanes factor = Lanes::broadcast(1.0F / __builtin_sqrtf(mean + eps));
    for_each_chunk(n, [&](int i, auto load, auto store) {
      store(y + i, (load(x + i) * factor) * load(weight + i));
    });
  }

  static void add(float* x, const float* delta, int n) {
    for_each_chunk(
        n, [&](int i, auto load, auto store) { store(x + i, load(x + i) + load(delta + i)); });
  }

  static void swiglu(const float* gate, const float* up, int n, float* y) {
    const Lanes one = Lanes::broadcast(1.0F);
    for_each_chunk(n, [&](int i, auto load, auto store) {
      const Lanes g = load(gate + i);
      store(y + i, (g / (one + exp(Lanes::zero() - g))) * load(up + i));
    });
  }

  static void rope(float* x, int num_heads, int head_dim, const float* cos, const float* sin) {
    const int half = head_dim / 2;
    for (int head = 0; head < num_heads; ++head) {
      float* first = x + static_cast<std::ptrdiff_t>(head) * head_dim;
      float* second = first + half;
      for_each_chunk(half, [&](int i, auto load, auto store) {
        const Lanes a = load(first + i);
        const Lanes b = load(second + i);
        const Lanes c = load(cos + i);
        const Lanes s = load(sin + i);
        store(first + i, a * c - b * s);
        store(second + i, b * c + a * s);
      });
    }
  }

  static void hadamard(float* x, int n, int block) {
    switch (block) {
      case 1:
        return;
      case 2:
        return small_blocks<2>(x, n);
      case 4:
        return small_blocks<4>(x, n);
      case 8:
        return small_blocks<8>(x, n);
      case 16:
        return large_blocks<1>(x, n);
      case 32:
        return large_blocks<2>(x, n);
      case 64:
        return large_blocks<4>(x, n);
      default:
        return large_blocks<kMaxBlock / kLanes>(x, n);
    }
  }

  static float quantize_row(float* x, int n, int block, std::uint8_t* q, std::size_t tile_stride) {
    hadamard(x, n, block);
    Lanes magnitudes = Lanes::zero();
    for_each_chunk(
        n, [&](int i, auto load, auto) { magnitudes = max_magnitude(magnitudes, load(x + i)); });
    const float largest = magnitudes.largest_magnitude();
    if (!(largest >= kZeroMagnitude && largest <= kLargestFinite)) {
      fill_with_zero(n, q, tile_stride);
      return largest < kZeroMagnitude ? 0.0F : kNan;
    }
    const Lanes factor = Lanes::broadcast(127.0F / largest);
    const int padded = (n + 63) / 64 * 64;
    for (int i = 0; i < padded; i += kLanes) {
      const int count = n - i < 0 ? 0 : n - i;
      const Lanes v = count >= kLanes ? Lanes::load(x + i) : Lanes::load_first(x + i, count);
      (v * factor).store_biased_u8(q + static_cast<std::size_t>(i / 64) * tile_stride + i % 64);
    }
    return largest / 127.0F;
  }

 private:
  /// Calls body(i, load, store) for i = 0, 16, 32 …; at the end load fills up with zeros and store
  /// writes only what belongs to [0, n).
  template <typename Body>
  static void for_each_chunk(int n, Body body) {
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      body(
          i, [](const float* p) { return Lanes::load(p); }, [](float* p, Lanes v) { v.store(p); });
    }
    if (i < n) {
      const int rest = n - i;
      body(
          i, [rest](const float* p) { return Lanes::load_first(p, rest); },
          [rest](float* p, Lanes v) { v.store_first(p, rest); });
    }
  }

  template <int kBlock>
  static Lanes butterflies(Lanes v) {
    if constexpr (kBlock >= 2) v = v.template butterfly<1>();
    if constexpr (kBlock >= 4) v = v.template butterfly<2>();
    if constexpr (kBlock >= 8) v = v.template butterfly<4>();
    if constexpr (kBlock >= 16) v = v.template butterfly<8>();
    return v;
  }

  template <int kBlock>
  static void small_blocks(float* x, int n) {
    for_each_chunk(
        n, [&](int i, auto load, auto store) { store(x + i, butterflies<kBlock>(load(x + i))); });
  }

  /// Blocks of kParts · 16 values.
  template <int kParts>
  static void large_blocks(float* x, int n) {
    for (float* end = x + n; x < end; x += kParts * kLanes) {
      Lanes part[kParts];
      for (int p = 0; p < kParts; ++p) part[p] = butterflies<kLanes>(Lanes::load(x + p * kLanes));
      for (int distance = 1; distance < kParts; distance *= 2) {
        for (int p = 0; p < kParts; ++p) {
          if ((p & distance) != 0) continue;
          const Lanes a = part[p];
          const Lanes b = part[p + distance];
          part[p] = a + b;
          part[p + distance] = a - b;
        }
      }
      for (int p = 0; p < kParts; ++p) part[p].store(x + p * kLanes);
    }
  }

  static void fill_with_zero(int n, std::uint8_t* q, std::size_t tile_stride) {
    for (int tile = 0; tile < (n + 63) / 64; ++tile) {
      std::memset(q + static_cast<std::size_t>(tile) * tile_stride, 128, 64);
    }
  }
};

}  // namespace paceline
