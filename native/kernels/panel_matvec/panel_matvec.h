// Matrix times a few vectors, the weights read once for all of them.
//
// Weights come in panels of 8 rows (see kazeia/packed_matrix.h for the layouts). f32 and f16 weights
// multiply float32 activations. q8_0 and q4_0 weights multiply activations rounded to 16 bits with one
// scale per block of 32: exact integer sums, and an error of 1.5e-5 of the block's largest value, where
// 8 bits would give 4e-3. Everything is accumulated in float32 or wider: activations of a feed-forward
// layer reach 1.5e5, beyond float16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kazeia/cpu.h"
#include "kazeia/packed_matrix.h"

namespace kazeia::panel_matvec {

inline constexpr std::size_t kMaxVectors = 4;

/// n_vectors vectors of n_in values each. Owned by the caller.
struct Activations {
  std::size_t n_vectors = 1;
  std::size_t n_in = 0;               // a multiple of 32
  const float* x = nullptr;           // [n_vectors][n_in], for f32 and f16
  const std::int16_t* q = nullptr;    // [n_vectors][n_in], for q8_0 and q4_0: at most 32512 in magnitude
  const float* scale = nullptr;       // [n_vectors][n_in / 32]
  const std::int32_t* sum = nullptr;  // [n_vectors][n_in / 32]: 8 times the sum of q in the block
};

/// y[v * y_stride + 8 * p + r] = row r of panel p times vector v, for p < n_panels. A row's result depends on
/// that row, its vector and the instruction set only: neither on n_panels nor on n_vectors.
using Function = void (*)(const std::byte* panels, std::size_t n_panels, const Activations& activations, float* y,
                          std::size_t y_stride);

/// The function for a weight type and an instruction set that isa_supported() admits.
Function function(WeightType type, Isa isa);

void f32_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void f16_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q8_0_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q4_0_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);

void f32_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void f16_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q8_0_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q4_0_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);

void q8_0_avx512(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q4_0_avx512(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);

void f32_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void f16_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q8_0_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);
void q4_0_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride);

void q8_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride);
void q4_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride);
void q8_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride);
void q4_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride);

}  // namespace kazeia::panel_matvec
