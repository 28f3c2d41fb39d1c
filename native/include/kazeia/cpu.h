// Which instruction set the kernels use: chosen once, forceable, never guessed from the build.
#pragma once

#include <string>

namespace kazeia {

/// avx512: AVX2 with the byte products of AVX-512 (VNNI), in its short registers.
/// neon_dotprod: NEON with the 8-bit dot products of ARMv8.2; neon_i8mm: with the 8-bit matrix products besides.
enum class Isa { scalar, avx2, avx512, neon, neon_dotprod, neon_i8mm };

/// All of them, best first.
inline constexpr Isa kIsas[] = {Isa::avx512, Isa::avx2, Isa::neon_i8mm, Isa::neon_dotprod, Isa::neon, Isa::scalar};

/// Name as in KAZEIA_CPU_ISA: "scalar", "avx2", "avx512", "neon", "neon-dotprod" or "neon-i8mm".
const char* isa_name(Isa isa);

/// Whether this build has kernels for `isa` and this processor runs them.
bool isa_supported(Isa isa);

/// Makes all kernels use `name`; "" chooses the best one. Call before the kernels run; not thread-safe.
/// @return "" or one plain line that says why not (unknown or unsupported name).
std::string select_isa(const std::string& name);

/// The instruction set in use; the best one where none was selected.
Isa active_isa();

}  // namespace kazeia
