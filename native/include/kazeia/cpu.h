// Which instruction set the kernels use: chosen once, forceable, never guessed from the build.
#pragma once

#include <string>

namespace kazeia {

enum class Isa { scalar, avx2, neon };

/// Name as in KAZEIA_CPU_ISA: "scalar", "avx2" or "neon".
const char* isa_name(Isa isa);

/// Whether this build has kernels for `isa` and this processor runs them.
bool isa_supported(Isa isa);

/// Makes all kernels use `name`; "" chooses the best one. Call before the kernels run; not thread-safe.
/// @return "" or one plain line that says why not (unknown or unsupported name).
std::string select_isa(const std::string& name);

/// The instruction set in use; the best one where none was selected.
Isa active_isa();

}  // namespace kazeia
