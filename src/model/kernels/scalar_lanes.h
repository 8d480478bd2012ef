#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace paceline {

/// 16 floats as a plain array: the reference for the vector types of the other instruction sets,
/// which have the same members and give the same bits. Used by elementwise.h.
struct ScalarLanes {
  float lane[16];

  static ScalarLanes zero() { return {}; }
  static ScalarLanes broadcast(float value) {
    ScalarLanes r;
    for (float& l : r.lane) l = value;
    return r;
  }
  static ScalarLanes load(const float* p) { return load_first(p, 16); }
  /// Loads `count` ≤ 16 values; the other lanes are 0.
  static ScalarLanes load_first(const float* p, int count) {
    ScalarLanes r = {};
    for (int i = 0; i < count; ++i) r.lane[i] = p[i];
    return r;
  }
  void store(float* p) const { store_first(p, 16); }
  void store_first(float* p, int count) const {
    for (int i = 0; i < count; ++i) p[i] = lane[i];
  }
  /// Stores round-to-nearest-even(lane) + 128 as bytes. Requires: |lane| ≤ 127.5.
  void store_biased_u8(std::uint8_t* p) const {
    for (int i = 0; i < 16; ++i) {
      p[i] = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(lane[i])) + 128);
    }
  }

  friend ScalarLanes operator+(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x + y; });
  }
  friend ScalarLanes operator-(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x - y; });
  }
  friend ScalarLanes operator*(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x * y; });
  }
  friend ScalarLanes operator/(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x / y; });
  }
  /// a < b ? a : b, so b when either is NaN; as the vector instructions do.
  friend ScalarLanes min(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x < y ? x : y; });
  }
  /// a > b ? a : b, so b when either is NaN.
  friend ScalarLanes max(const ScalarLanes& a, const ScalarLanes& b) {
    return map(a, b, [](float x, float y) { return x > y ? x : y; });
  }
  friend ScalarLanes round_to_even(const ScalarLanes& a) {
    ScalarLanes r;
    for (int i = 0; i < 16; ++i) r.lane[i] = std::nearbyint(a.lane[i]);
    return r;
  }
  /// 2^a for whole numbers -126 ≤ a ≤ 127.
  friend ScalarLanes power_of_two(const ScalarLanes& a) {
    ScalarLanes r;
    for (int i = 0; i < 16; ++i) {
      r.lane[i] = std::bit_cast<float>((static_cast<std::int32_t>(a.lane[i]) + 127) << 23);
    }
    return r;
  }
  /// Larger of `bits` and the bits of |x|, as integers per lane: orders NaN above infinity above
  /// every number, whatever the order of the calls.
  friend ScalarLanes max_magnitude(const ScalarLanes& bits, const ScalarLanes& x) {
    return map(bits, x, [](float b, float value) {
      const auto magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
      const auto best = std::bit_cast<std::uint32_t>(b);
      return std::bit_cast<float>(magnitude > best ? magnitude : best);
    });
  }
  /// Largest lane as an integer: the result of max_magnitude over all values, as a float.
  [[nodiscard]] float largest_magnitude() const {
    std::uint32_t best = 0;
    for (const float l : lane) {
      const auto bits = std::bit_cast<std::uint32_t>(l);
      best = bits > best ? bits : best;
    }
    return std::bit_cast<float>(best);
  }
  /// Sum as a fixed tree: lanes l and l + 8, then l + 4, l + 2, l + 1.
  [[nodiscard]] float sum() const {
    float s[16];
    for (int i = 0; i < 16; ++i) s[i] = lane[i];
    for (int width = 8; width >= 1; width /= 2) {
      for (int i = 0; i < width; ++i) s[i] = s[i] + s[i + width];
    }
    return s[0];
  }
  /// Pairs (l, l + kDistance): the lower lane becomes the sum, the upper one lower - upper.
  template <int kDistance>
  [[nodiscard]] ScalarLanes butterfly() const {
    ScalarLanes r;
    for (int i = 0; i < 16; ++i) {
      const int other = i ^ kDistance;
      r.lane[i] = (i & kDistance) == 0 ? lane[i] + lane[other] : lane[other] - lane[i];
    }
    return r;
  }

 private:
  template <typename F>
  static ScalarLanes map(const ScalarLanes& a, const ScalarLanes& b, F f) {
    ScalarLanes r;
    for (int i = 0; i < 16; ++i) r.lane[i] = f(a.lane[i], b.lane[i]);
    return r;
  }
};

}  // namespace paceline
