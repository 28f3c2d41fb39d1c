#include <cmath>

#include "block_max/block_max.h"

namespace kazeia::block_max {

void block_max_scalar(const float* x, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b, x += kBlock) {
    float largest = x[0];
    for (std::size_t i = 1; i < kBlock; ++i) {
      // What is no number stays: no comparison with it is true.
      if (x[i] > largest || std::isnan(x[i])) largest = x[i];
    }
    out[b] = largest;
  }
}

}  // namespace kazeia::block_max
