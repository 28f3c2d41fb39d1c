// One output sample of a polyphase FIR filter: the dot product of a row of taps and a window of input.
#pragma once

#include <cstddef>

#include "kazeia/cpu.h"

namespace kazeia::polyphase_fir {

/// sum of taps[i] * x[i] for i < n, float32. Any alignment; n may be 0. inf and NaN follow IEEE 754.
/// The result depends on the instruction set in the last bits, and on nothing else.
using DotFunction = float (*)(const float* taps, const float* x, std::size_t n);

float dot_scalar(const float* taps, const float* x, std::size_t n);  // the specification
float dot_avx2(const float* taps, const float* x, std::size_t n);    // x86-64 builds, AVX2 and FMA
float dot_neon(const float* taps, const float* x, std::size_t n);    // aarch64 builds

/// The function for an instruction set that isa_supported() admits.
DotFunction dot_function(Isa isa);

}  // namespace kazeia::polyphase_fir
