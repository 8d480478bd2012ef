#pragma once

// For files that are compiled with AVX-512; empty elsewhere, so that the header can be included
// alone.
#if defined(__AVX512F__)

#include <immintrin.h>

#include <cstdint>

namespace paceline {

/// 16 floats in one AVX-512 register; members as in ScalarLanes.
struct Avx512Lanes {
  __m512 v;

  static Avx512Lanes zero() { return {_mm512_setzero_ps()}; }
  static Avx512Lanes broadcast(float value) { return {_mm512_set1_ps(value)}; }
  static Avx512Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Avx512Lanes load_first(const float* p, int count) {
    return {_mm512_maskz_loadu_ps(mask_of(count), p)};
  }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  void store_first(float* p, int count) const { _mm512_mask_storeu_ps(p, mask_of(count), v); }
  void store_biased_u8(std::uint8_t* p) const {
    const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(128));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(biased));
  }

  friend Avx512Lanes operator+(Avx512Lanes a, Avx512Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend Avx512Lanes operator-(Avx512Lanes a, Avx512Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend Avx512Lanes operator*(Avx512Lanes a, Avx512Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend Avx512Lanes operator/(Avx512Lanes a, Avx512Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
  friend Avx512Lanes min(Avx512Lanes a, Avx512Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
  friend Avx512Lanes max(Avx512Lanes a, Avx512Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
  friend Avx512Lanes round_to_even(Avx512Lanes a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  friend Avx512Lanes power_of_two(Avx512Lanes a) {
    return {_mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(a.v), _mm512_set1_epi32(127)), 23))};
  }
  friend Avx512Lanes max_magnitude(Avx512Lanes bits, Avx512Lanes x) {
    const __m512i magnitude =
        _mm512_and_si512(_mm512_castps_si512(x.v), _mm512_set1_epi32(0x7fffffff));
    return {_mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(bits.v), magnitude))};
  }
  [[nodiscard]] float largest_magnitude() const {
    const unsigned bits = _mm512_reduce_max_epu32(_mm512_castps_si512(v));
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  }
  [[nodiscard]] float sum() const {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
  }
  /// Partner + x in lower lanes, partner - x in upper ones.
  template <int kDistance>
  [[nodiscard]] Avx512Lanes butterfly() const {
    __m512 partner;
    __mmask16 upper;
    if constexpr (kDistance == 1) {
      partner = _mm512_permute_ps(v, 0b10110001);
      upper = 0b1010101010101010;
    } else if constexpr (kDistance == 2) {
      partner = _mm512_permute_ps(v, 0b01001110);
      upper = 0b1100110011001100;
    } else if constexpr (kDistance == 4) {
      partner = _mm512_shuffle_f32x4(v, v, 0b10110001);
      upper = 0b1111000011110000;
    } else {
      static_assert(kDistance == 8);
      partner = _mm512_shuffle_f32x4(v, v, 0b01001110);
      upper = 0b1111111100000000;
    }
    return {_mm512_mask_sub_ps(_mm512_add_ps(partner, v), upper, partner, v)};
  }

 private:
  static __mmask16 mask_of(int count) {
    return static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U);
  }
};

}  // namespace paceline

#endif
