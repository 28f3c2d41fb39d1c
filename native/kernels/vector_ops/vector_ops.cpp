#include "vector_ops/vector_ops.h"

namespace kazeia::vector_ops {

const Table& table(Isa isa) {
  switch (isa) {
#if defined(KAZEIA_HAS_AVX2)
    case Isa::avx2:
    case Isa::avx512:
      return kAvx2;
#endif
#if defined(KAZEIA_HAS_NEON)
    case Isa::neon:
    case Isa::neon_dotprod:
    case Isa::neon_i8mm:
      return kNeon;
#endif
    default:
      return kScalar;
  }
}

}  // namespace kazeia::vector_ops
