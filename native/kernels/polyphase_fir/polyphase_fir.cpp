#include "polyphase_fir/polyphase_fir.h"

namespace kazeia::polyphase_fir {

DotFunction dot_function(Isa isa) {
  switch (isa) {
#if defined(KAZEIA_HAS_AVX2)
    case Isa::avx2:
    case Isa::avx512:
      return dot_avx2;
#endif
#if defined(KAZEIA_HAS_NEON)
    case Isa::neon:
    case Isa::neon_dotprod:
    case Isa::neon_i8mm:
      return dot_neon;
#endif
    default:
      return dot_scalar;
  }
}

}  // namespace kazeia::polyphase_fir
