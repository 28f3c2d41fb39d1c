#include <arm_neon.h>

#include "block_max/block_max.h"

namespace kazeia::block_max {

void block_max_neon(const float* x, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b, x += kBlock) {
    float32x4_t one = vld1q_f32(x);
    float32x4_t other = vld1q_f32(x + 4);
    for (std::size_t i = 8; i < kBlock; i += 8) {
      one = vmaxq_f32(one, vld1q_f32(x + i));  // what is no number stays
      other = vmaxq_f32(other, vld1q_f32(x + i + 4));
    }
    out[b] = vmaxvq_f32(vmaxq_f32(one, other));
  }
}

}  // namespace kazeia::block_max
