// The largest value of each block of a long vector: where its largest values can be, in one reading.
#pragma once

#include <cstddef>

#include "kazeia/cpu.h"

namespace kazeia::block_max {

inline constexpr std::size_t kBlock = 64;

/// out[b] = the largest of x[64 b] to x[64 b + 63], NaN where one of them is NaN; b < n_blocks. Any alignment.
/// The same values for every instruction set; of -0 and 0 either.
using Function = void (*)(const float* x, std::size_t n_blocks, float* out);

void block_max_scalar(const float* x, std::size_t n_blocks, float* out);  // the specification
void block_max_avx2(const float* x, std::size_t n_blocks, float* out);    // x86-64 builds
void block_max_neon(const float* x, std::size_t n_blocks, float* out);    // aarch64 builds

/// The function for an instruction set that isa_supported() admits.
Function function(Isa isa);

}  // namespace kazeia::block_max
