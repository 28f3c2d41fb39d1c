#include <immintrin.h>

#include "polyphase_fir/polyphase_fir.h"

namespace kazeia::polyphase_fir {

float dot_avx2(const float* taps, const float* x, std::size_t n) {
  // Four sums hide the latency of the fused multiply-add (4 cycles, 2 a cycle on most AVX2 cores).
  __m256 sum0 = _mm256_setzero_ps();
  __m256 sum1 = _mm256_setzero_ps();
  __m256 sum2 = _mm256_setzero_ps();
  __m256 sum3 = _mm256_setzero_ps();
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(taps + i), _mm256_loadu_ps(x + i), sum0);
    sum1 = _mm256_fmadd_ps(_mm256_loadu_ps(taps + i + 8), _mm256_loadu_ps(x + i + 8), sum1);
    sum2 = _mm256_fmadd_ps(_mm256_loadu_ps(taps + i + 16), _mm256_loadu_ps(x + i + 16), sum2);
    sum3 = _mm256_fmadd_ps(_mm256_loadu_ps(taps + i + 24), _mm256_loadu_ps(x + i + 24), sum3);
  }
  for (; i + 8 <= n; i += 8) {
    sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(taps + i), _mm256_loadu_ps(x + i), sum0);
  }
  const __m256 sums = _mm256_add_ps(_mm256_add_ps(sum0, sum1), _mm256_add_ps(sum2, sum3));
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  four = _mm_add_ss(four, _mm_movehdup_ps(four));
  float sum = _mm_cvtss_f32(four);
  for (; i < n; ++i) sum += taps[i] * x[i];
  return sum;
}

}  // namespace kazeia::polyphase_fir
