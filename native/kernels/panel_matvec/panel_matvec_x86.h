// What the AVX kernels with 8-bit products share.
#pragma once

#include <cstdint>

#include "panel_matvec/panel_matvec.h"

namespace kazeia::panel_matvec {

/// Activations as bytes, with AVX2: q = 256 high + low, both signed. [vector][group of 4 columns][4 high, then 4 low].
/// The memory is this thread's, valid until its next call, and grows only.
const std::int8_t* split_bytes_avx2(const Activations& a);

}  // namespace kazeia::panel_matvec
