#include <arm_neon.h>

#include "polyphase_fir/polyphase_fir.h"

namespace kazeia::polyphase_fir {

float dot_neon(const float* taps, const float* x, std::size_t n) {
  float32x4_t sum0 = vdupq_n_f32(0.0F);
  float32x4_t sum1 = vdupq_n_f32(0.0F);
  float32x4_t sum2 = vdupq_n_f32(0.0F);
  float32x4_t sum3 = vdupq_n_f32(0.0F);
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    sum0 = vfmaq_f32(sum0, vld1q_f32(taps + i), vld1q_f32(x + i));
    sum1 = vfmaq_f32(sum1, vld1q_f32(taps + i + 4), vld1q_f32(x + i + 4));
    sum2 = vfmaq_f32(sum2, vld1q_f32(taps + i + 8), vld1q_f32(x + i + 8));
    sum3 = vfmaq_f32(sum3, vld1q_f32(taps + i + 12), vld1q_f32(x + i + 12));
  }
  for (; i + 4 <= n; i += 4) sum0 = vfmaq_f32(sum0, vld1q_f32(taps + i), vld1q_f32(x + i));
  float sum = vaddvq_f32(vaddq_f32(vaddq_f32(sum0, sum1), vaddq_f32(sum2, sum3)));
  for (; i < n; ++i) sum += taps[i] * x[i];
  return sum;
}

}  // namespace kazeia::polyphase_fir
