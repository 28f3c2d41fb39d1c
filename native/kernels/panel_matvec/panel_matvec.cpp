#include "panel_matvec/panel_matvec.h"

namespace kazeia::panel_matvec {
namespace {

/// The functions of one instruction set, in the order of WeightType.
struct Table {
  Function of_type[4];
};

constexpr Table kScalar = {{f32_scalar, f16_scalar, q8_0_scalar, q4_0_scalar}};
#if defined(KAZEIA_HAS_AVX2)
constexpr Table kAvx2 = {{f32_avx2, f16_avx2, q8_0_avx2, q4_0_avx2}};
constexpr Table kAvx512 = {{f32_avx2, f16_avx2, q8_0_avx512, q4_0_avx512}};
#endif
#if defined(KAZEIA_HAS_NEON)
constexpr Table kNeon = {{f32_neon, f16_neon, q8_0_neon, q4_0_neon}};
constexpr Table kNeonDotprod = {{f32_neon, f16_neon, q8_0_neon_dotprod, q4_0_neon_dotprod}};
constexpr Table kNeonI8mm = {{f32_neon, f16_neon, q8_0_neon_i8mm, q4_0_neon_i8mm}};
#endif

}  // namespace

Function function(WeightType type, Isa isa) {
  const auto index = static_cast<std::size_t>(type);
  switch (isa) {
#if defined(KAZEIA_HAS_AVX2)
    case Isa::avx2:
      return kAvx2.of_type[index];
    case Isa::avx512:
      return kAvx512.of_type[index];
#endif
#if defined(KAZEIA_HAS_NEON)
    case Isa::neon:
      return kNeon.of_type[index];
    case Isa::neon_dotprod:
      return kNeonDotprod.of_type[index];
    case Isa::neon_i8mm:
      return kNeonI8mm.of_type[index];
#endif
    default:
      return kScalar.of_type[index];
  }
}

}  // namespace kazeia::panel_matvec
