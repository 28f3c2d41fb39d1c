#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kazeia/half.h"
#include "vector_ops/vector_ops.h"

namespace kazeia::vector_ops {
namespace {

constexpr std::size_t kLanes = 8;

float total(__m256 v) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

float largest_of(__m256 v) {
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

/// e^x within 2 units in the last place; 0 below -87.3, NaN stays NaN. Cephes' expf: x = n ln 2 + r.
__m256 exp8(__m256 x) {
  // min and max return their second operand when one is NaN.
  x = _mm256_min_ps(_mm256_set1_ps(88.37F), x);
  const __m256 vanishes = _mm256_cmp_ps(x, _mm256_set1_ps(-87.33F), _CMP_LT_OQ);
  x = _mm256_max_ps(_mm256_set1_ps(-87.33F), x);
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
  p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, _mm256_set1_ps(1.0F)));
  const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  return _mm256_andnot_ps(vanishes, _mm256_mul_ps(p, _mm256_castsi256_ps(exponent)));
}

/// The last n % 8 values; the other lanes hold `fill`.
__m256 load_tail(const float* x, std::size_t n, float fill) {
  alignas(32) float lanes[kLanes];
  for (float& lane : lanes) lane = fill;
  std::memcpy(lanes, x, n * sizeof(float));
  return _mm256_load_ps(lanes);
}

void store_tail(float* x, std::size_t n, __m256 value) {
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, value);
  std::memcpy(x, lanes, n * sizeof(float));
}

float dot(const float* a, const float* b, std::size_t n) {
  __m256 sum0 = _mm256_setzero_ps();
  __m256 sum1 = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), sum0);
    sum1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + kLanes), _mm256_loadu_ps(b + i + kLanes), sum1);
  }
  float sum = total(_mm256_add_ps(sum0, sum1));
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* out) {
  const float scale = 1.0F / std::sqrt(dot(x, x, n) / static_cast<float>(n) + eps);
  const __m256 scale8 = _mm256_set1_ps(scale);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(out + i,
                     _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), scale8), _mm256_loadu_ps(weight + i)));
  }
  for (; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

__m256 silu8(__m256 gate, __m256 up) {
  const __m256 one = _mm256_set1_ps(1.0F);
  const __m256 e = exp8(_mm256_sub_ps(_mm256_setzero_ps(), gate));
  return _mm256_mul_ps(_mm256_div_ps(gate, _mm256_add_ps(one, e)), up);
}

void silu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(out + i, silu8(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
  }
  if (i < n) store_tail(out + i, n - i, silu8(load_tail(gate + i, n - i, 0.0F), load_tail(up + i, n - i, 0.0F)));
}

void softmax(float* x, std::size_t n) {
  const float low = -std::numeric_limits<float>::infinity();
  __m256 largest8 = _mm256_set1_ps(low);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) largest8 = _mm256_max_ps(largest8, _mm256_loadu_ps(x + i));
  if (i < n) largest8 = _mm256_max_ps(largest8, load_tail(x + i, n - i, low));
  const __m256 largest = _mm256_set1_ps(largest_of(largest8));
  __m256 sum8 = _mm256_setzero_ps();
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const __m256 e = exp8(_mm256_sub_ps(_mm256_loadu_ps(x + i), largest));
    _mm256_storeu_ps(x + i, e);
    sum8 = _mm256_add_ps(sum8, e);
  }
  if (i < n) {
    const __m256 e = exp8(_mm256_sub_ps(load_tail(x + i, n - i, low), largest));
    store_tail(x + i, n - i, e);
    sum8 = _mm256_add_ps(sum8, e);
  }
  const float sum = total(sum8);
  for (i = 0; i < n; ++i) x[i] /= sum;
}

void add_scaled(float* y, float a, const float* x, std::size_t n) {
  const __m256 a8 = _mm256_set1_ps(a);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(y + i, _mm256_fmadd_ps(a8, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  }
  for (; i < n; ++i) y[i] += a * x[i];
}

void quantize(const float* x, std::size_t n, std::int16_t* q, float* scale, std::int32_t* sum) {
  const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  const __m256 infinity = _mm256_set1_ps(std::numeric_limits<float>::infinity());
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::size_t b = 0; b < n / 32; ++b, x += 32, q += 32) {
    const __m256 x0 = _mm256_loadu_ps(x);
    const __m256 x1 = _mm256_loadu_ps(x + 8);
    const __m256 x2 = _mm256_loadu_ps(x + 16);
    const __m256 x3 = _mm256_loadu_ps(x + 24);
    const __m256 a0 = _mm256_and_ps(x0, no_sign);
    const __m256 a1 = _mm256_and_ps(x1, no_sign);
    const __m256 a2 = _mm256_and_ps(x2, no_sign);
    const __m256 a3 = _mm256_and_ps(x3, no_sign);
    // A comparison with NaN is false. A sum would tell as much, but of large finite values it overflows.
    const auto below_inf = [&](__m256 v) { return _mm256_cmp_ps(v, infinity, _CMP_LT_OQ); };
    const bool finite = _mm256_movemask_ps(_mm256_and_ps(_mm256_and_ps(below_inf(a0), below_inf(a1)),
                                                         _mm256_and_ps(below_inf(a2), below_inf(a3)))) == 0xFF;
    const float largest = largest_of(_mm256_max_ps(_mm256_max_ps(a0, a1), _mm256_max_ps(a2, a3)));
    const float inverse = finite && largest > 1e-30F ? static_cast<float>(kLargestQuant) / largest : 0.0F;
    const __m256 inverse8 = _mm256_set1_ps(inverse);
    const auto rounded = [&](__m256 v) {
      const __m256i whole = _mm256_cvtps_epi32(_mm256_mul_ps(v, inverse8));
      return finite ? whole : _mm256_setzero_si256();
    };
    // packs works within halves: the permutation puts the four quarters in order.
    const __m256i low = _mm256_permute4x64_epi64(_mm256_packs_epi32(rounded(x0), rounded(x1)), _MM_SHUFFLE(3, 1, 2, 0));
    const __m256i high =
        _mm256_permute4x64_epi64(_mm256_packs_epi32(rounded(x2), rounded(x3)), _MM_SHUFFLE(3, 1, 2, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 16), high);
    const __m256i pairs = _mm256_add_epi32(_mm256_madd_epi16(low, ones), _mm256_madd_epi16(high, ones));
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(2, 3, 0, 1)));
    sum[b] = 8 * _mm_cvtsi128_si32(four);
    scale[b] = finite ? largest / static_cast<float>(kLargestQuant) : std::numeric_limits<float>::quiet_NaN();
  }
}

__m256 load_f16(const std::uint16_t* x) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

float dot_f16(const float* a, const std::uint16_t* b, std::size_t n) {
  __m256 sum0 = _mm256_setzero_ps();
  __m256 sum1 = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), load_f16(b + i), sum0);
    sum1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + kLanes), load_f16(b + i + kLanes), sum1);
  }
  float sum = total(_mm256_add_ps(sum0, sum1));
  for (; i < n; ++i) sum += a[i] * half_to_float(b[i]);
  return sum;
}

void add_scaled_f16(float* y, float a, const std::uint16_t* x, std::size_t n) {
  const __m256 a8 = _mm256_set1_ps(a);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    _mm256_storeu_ps(y + i, _mm256_fmadd_ps(a8, load_f16(x + i), _mm256_loadu_ps(y + i)));
  }
  for (; i < n; ++i) y[i] += a * half_to_float(x[i]);
}

void to_f16(const float* x, std::size_t n, std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  for (; i < n; ++i) out[i] = float_to_half(x[i]);
}

}  // namespace

const Table kAvx2 = {rms_norm, silu_mul, softmax, dot, add_scaled, quantize, dot_f16, add_scaled_f16, to_f16};

}  // namespace kazeia::vector_ops
