#include "block_max/block_max.h"

namespace kazeia::block_max {

Function function(Isa isa) {
  switch (isa) {
#if defined(KAZEIA_HAS_AVX2)
    case Isa::avx2:
    case Isa::avx512:
      return block_max_avx2;
#endif
#if defined(KAZEIA_HAS_NEON)
    case Isa::neon:
    case Isa::neon_dotprod:
    case Isa::neon_i8mm:
      return block_max_neon;
#endif
    default:
      return block_max_scalar;
  }
}

}  // namespace kazeia::block_max
