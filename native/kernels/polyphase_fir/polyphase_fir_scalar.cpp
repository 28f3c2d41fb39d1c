#include "polyphase_fir/polyphase_fir.h"

namespace kazeia::polyphase_fir {

float dot_scalar(const float* taps, const float* x, std::size_t n) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) sum += taps[i] * x[i];
  return sum;
}

}  // namespace kazeia::polyphase_fir
