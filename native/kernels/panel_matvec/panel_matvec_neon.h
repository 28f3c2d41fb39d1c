// What the NEON kernels for q8_0 and q4_0 share. All but split_bytes() has internal linkage: each file is compiled
// for processors of its own, and no other may get its functions.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "panel_matvec/panel_matvec.h"

#if defined(_MSC_VER) && !defined(__clang__)
#define KAZEIA_INLINE __forceinline
#define KAZEIA_ROLLED
#else
#define KAZEIA_INLINE __attribute__((always_inline)) inline
#if defined(__clang__)
#define KAZEIA_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define KAZEIA_ROLLED _Pragma("GCC unroll 1")
#endif
#endif

namespace kazeia::panel_matvec {

/// Activations as bytes: q = 256 high + low, both signed. [vector][8 columns][8 high, then 8 low]. The memory is this
/// thread's, valid until its next call.
const std::int8_t* split_bytes(const Activations& a);

namespace neon {
namespace {

/// 8 columns of a panel: the 4 columns of group 0 or 1, of the rows 4h to 4h + 3, as [row][column].
struct Columns8 {
  int8x16_t of[2][2];  // [group][h]
};

struct Q8 {
  static constexpr std::size_t kBlockBytes = 34 * kPanelRows;
  static Columns8 columns(const std::byte* quants, std::size_t index) {
    const auto* at = reinterpret_cast<const std::int8_t*>(quants) + index * 64;
    return {{{vld1q_s8(at), vld1q_s8(at + 16)}, {vld1q_s8(at + 32), vld1q_s8(at + 48)}}};
  }
  /// What a block's sums begin with.
  static int32x4_t start(const std::int32_t* /*sum*/) { return vdupq_n_s32(0); }
};

/// Nibbles as they are, 0 to 15: 8 times the sum of the activations goes off at the start.
struct Q4 {
  static constexpr std::size_t kBlockBytes = 18 * kPanelRows;
  static Columns8 columns(const std::byte* quants, std::size_t index) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(quants) + index * 32;
    Columns8 found{};
    for (std::size_t h = 0; h < 2; ++h) {
      const uint8x16_t both = vld1q_u8(at + 16 * h);
      found.of[0][h] = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(0x0F)));
      found.of[1][h] = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
    }
    return found;
  }
  static int32x4_t start(const std::int32_t* sum) { return vnegq_s32(vld1q_dup_s32(sum)); }
};

/// A block's scales of the 8 rows.
struct Scales {
  float32x4_t of[2];
};

inline Scales scales(const std::byte* block) {
  const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const std::uint16_t*>(block)));
  return {{vcvt_f32_f16(vget_low_f16(half)), vcvt_f32_f16(vget_high_f16(half))}};
}

/// The product of N vectors, N a constant so that the sums stay in registers. Sums holds a block's integer sums:
///   activations(a), kValues        what it multiplies, and how many of these make an activation
///   start(v, first)                those of vector v, from `first`
///   add(w, x, stride)              8 columns of all vectors; vector v's activations are at x + v * stride
///   rows(v, h)                     vector v's exact sums of the rows 4h to 4h + 3
template <class Format, class Sums, std::size_t N>
void multiply(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const auto* activations = Sums::activations(a);
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    float32x4_t sum[N][2];
    for (auto& of_vector : sum) of_vector[0] = of_vector[1] = vdupq_n_f32(0.0F);
    for (std::size_t b = 0; b < n_blocks; ++b, block += Format::kBlockBytes) {
      const std::byte* quants = block + kPanelRows * 2;
      const auto* x = activations + Sums::kValues * b * kBlock;
      Sums sums;  // NOLINT(cppcoreguidelines-pro-type-member-init): start() fills it
      for (std::size_t v = 0; v < N; ++v) sums.start(v, Format::start(a.sum + v * n_blocks + b));
      if constexpr (N <= 2) {
        for (std::size_t c = 0; c < kBlock / 8; ++c)
          sums.add(Format::columns(quants, c), x + Sums::kValues * 8 * c, Sums::kValues * a.n_in);
      } else {  // with all loads at once, registers would not do
        KAZEIA_ROLLED
        for (std::size_t c = 0; c < kBlock / 8; ++c)
          sums.add(Format::columns(quants, c), x + Sums::kValues * 8 * c, Sums::kValues * a.n_in);
      }
      const Scales scale = scales(block);
      for (std::size_t v = 0; v < N; ++v) {
        const float x_scale = a.scale[v * n_blocks + b];
        for (std::size_t h = 0; h < 2; ++h) {
          sum[v][h] = vfmaq_f32(sum[v][h], vmulq_n_f32(scale.of[h], x_scale), vcvtq_f32_s32(sums.rows(v, h)));
        }
      }
    }
    for (std::size_t v = 0; v < N; ++v) {
      vst1q_f32(y + v * y_stride + p * kPanelRows, sum[v][0]);
      vst1q_f32(y + v * y_stride + p * kPanelRows + 4, sum[v][1]);
    }
  }
}

template <class Format, template <std::size_t> class Sums>
void dispatch(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  switch (a.n_vectors) {
    case 1:
      return multiply<Format, Sums<1>, 1>(panels, n_panels, a, y, y_stride);
    case 2:
      return multiply<Format, Sums<2>, 2>(panels, n_panels, a, y, y_stride);
    case 3:
      return multiply<Format, Sums<3>, 3>(panels, n_panels, a, y, y_stride);
    default:
      return multiply<Format, Sums<4>, 4>(panels, n_panels, a, y, y_stride);
  }
}

}  // namespace
}  // namespace neon
}  // namespace kazeia::panel_matvec
