#pragma once

// For files that are compiled with AVX2; empty elsewhere, so that the header can be included alone.
#if defined(__AVX2__)

#include <immintrin.h>

#include <cstdint>

namespace paceline {

/// 16 floats in two AVX2 registers; members as in ScalarLanes.
struct Avx2Lanes {
  __m256 low;
  __m256 high;

  static Avx2Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Avx2Lanes broadcast(float value) { return {_mm256_set1_ps(value), _mm256_set1_ps(value)}; }
  static Avx2Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Avx2Lanes load_first(const float* p, int count) {
    return {_mm256_maskload_ps(p, mask_of(count)), _mm256_maskload_ps(p + 8, mask_of(count - 8))};
  }
  void store(float* p) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }
  void store_first(float* p, int count) const {
    _mm256_maskstore_ps(p, mask_of(count), low);
    _mm256_maskstore_ps(p + 8, mask_of(count - 8), high);
  }
  void store_biased_u8(std::uint8_t* p) const {
    // packs works per 128-bit half: the permutation restores the order of the four quarters.
    const __m256i words = _mm256_permute4x64_epi64(
        _mm256_packs_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high)), 0b11011000);
    const __m256i biased = _mm256_add_epi16(words, _mm256_set1_epi16(128));
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi16(_mm256_castsi256_si128(biased), _mm256_extracti128_si256(biased, 1)));
  }

  friend Avx2Lanes operator+(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  friend Avx2Lanes operator-(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  friend Avx2Lanes operator*(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  friend Avx2Lanes operator/(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  friend Avx2Lanes min(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  friend Avx2Lanes max(Avx2Lanes a, Avx2Lanes b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  friend Avx2Lanes round_to_even(Avx2Lanes a) {
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.low, kMode), _mm256_round_ps(a.high, kMode)};
  }
  friend Avx2Lanes power_of_two(Avx2Lanes a) { return {exponent(a.low), exponent(a.high)}; }
  friend Avx2Lanes max_magnitude(Avx2Lanes bits, Avx2Lanes x) {
    return {max_bits(bits.low, clear_sign(x.low)), max_bits(bits.high, clear_sign(x.high))};
  }
  [[nodiscard]] float largest_magnitude() const {
    const __m256 half = max_bits(low, high);
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(_mm256_castps_si256(half)),
                              _mm256_extracti128_si256(_mm256_castps_si256(half), 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0b01001110));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0b10110001));
    return _mm_cvtss_f32(_mm_castsi128_ps(m));
  }
  [[nodiscard]] float sum() const {
    const __m256 eight = _mm256_add_ps(low, high);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
  }
  template <int kDistance>
  [[nodiscard]] Avx2Lanes butterfly() const {
    if constexpr (kDistance == 8) {
      return {_mm256_add_ps(low, high), _mm256_sub_ps(low, high)};
    } else {
      return {pairs<kDistance>(low), pairs<kDistance>(high)};
    }
  }

 private:
  static __m256i mask_of(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m256 clear_sign(__m256 x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
  }
  static __m256 max_bits(__m256 a, __m256 b) {
    return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
  }
  static __m256 exponent(__m256 a) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127)), 23));
  }
  /// Partner + x in lower lanes, partner - x in upper ones: x's sign is flipped there first.
  template <int kDistance>
  static __m256 pairs(__m256 x) {
    __m256 partner;
    __m256i upper;
    if constexpr (kDistance == 1) {
      partner = _mm256_permute_ps(x, 0b10110001);
      upper = _mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1);
    } else if constexpr (kDistance == 2) {
      partner = _mm256_permute_ps(x, 0b01001110);
      upper = _mm256_setr_epi32(0, 0, -1, -1, 0, 0, -1, -1);
    } else {
      static_assert(kDistance == 4);
      partner = _mm256_permute2f128_ps(x, x, 1);
      upper = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1);
    }
    const __m256i sign = _mm256_slli_epi32(upper, 31);
    return _mm256_add_ps(partner, _mm256_xor_ps(x, _mm256_castsi256_ps(sign)));
  }
};

}  // namespace paceline

#endif
