// What a decoder layer does to vectors between its matrix products. All float32; any alignment; n may be 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kazeia/cpu.h"

namespace kazeia::vector_ops {

/// Largest magnitude of a 16-bit activation: its high and low bytes then both fit a signed byte, so that
/// 8-bit dot products can work on them too.
inline constexpr int kLargestQuant = 32512;

struct Table {
  /// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; out may be x. Zhang and Sennrich, arXiv:1910.07467.
  void (*rms_norm)(const float* x, const float* weight, std::size_t n, float eps, float* out);
  /// out[i] = silu(gate[i]) * up[i]; out may be gate. Shazeer, arXiv:2002.05202.
  void (*silu_mul)(const float* gate, const float* up, std::size_t n, float* out);
  /// x[i] = exp(x[i] - max(x)) / sum: in place.
  void (*softmax)(float* x, std::size_t n);
  float (*dot)(const float* a, const float* b, std::size_t n);
  /// y[i] += a * x[i]
  void (*add_scaled)(float* y, float a, const float* x, std::size_t n);
  /// For each block of 32 (n is a multiple): scale = max|x| / 32512, q = x / scale to the nearest (even at a tie),
  /// sum = 8 * the sum of q. A block with inf or NaN gets q = 0 and a scale of NaN: the product is NaN.
  void (*quantize)(const float* x, std::size_t n, std::int16_t* q, float* scale, std::int32_t* sum);
  /// dot and add_scaled with b and x as binary16: the keys and values of a long sequence.
  float (*dot_f16)(const float* a, const std::uint16_t* b, std::size_t n);
  void (*add_scaled_f16)(float* y, float a, const std::uint16_t* x, std::size_t n);
  /// out[i] = x[i] as binary16, to the nearest, even at a tie.
  void (*to_f16)(const float* x, std::size_t n, std::uint16_t* out);
};

extern const Table kScalar;  // the specification
#if defined(KAZEIA_HAS_AVX2)
extern const Table kAvx2;
#endif
#if defined(KAZEIA_HAS_NEON)
extern const Table kNeon;
#endif

/// The functions for an instruction set that isa_supported() admits.
const Table& table(Isa isa);

}  // namespace kazeia::vector_ops
