#include <immintrin.h>

#include <limits>

#include "block_max/block_max.h"

namespace kazeia::block_max {

void block_max_avx2(const float* x, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b, x += kBlock) {
    __m256 one = _mm256_loadu_ps(x);
    __m256 other = _mm256_loadu_ps(x + 8);
    // The instruction for the larger drops what is no number: looked for apart, two registers at once.
    __m256 odd = _mm256_cmp_ps(one, other, _CMP_UNORD_Q);
    for (std::size_t i = 16; i < kBlock; i += 16) {
      const __m256 a = _mm256_loadu_ps(x + i);
      const __m256 c = _mm256_loadu_ps(x + i + 8);
      one = _mm256_max_ps(one, a);
      other = _mm256_max_ps(other, c);
      odd = _mm256_or_ps(odd, _mm256_cmp_ps(a, c, _CMP_UNORD_Q));
    }
    if (_mm256_movemask_ps(odd) != 0) {
      out[b] = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const __m256 both = _mm256_max_ps(one, other);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    out[b] = _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
  }
}

}  // namespace kazeia::block_max
