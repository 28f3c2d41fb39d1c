// What the NEON kernels with 8-bit products share. All but split_bytes() has internal linkage: each file is compiled
// for processors of its own, and no other may get its functions.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "panel_matvec/panel_matvec.h"

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
    Columns8 found;
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

/// Adds the exact sums of a block, of 4 rows, to their float32 sums.
inline float32x4_t add_block(float32x4_t scale, float x_scale, int32x4_t high, int32x4_t low, float32x4_t sum) {
  const int32x4_t rows = vmlaq_n_s32(low, high, 256);
  return vfmaq_f32(sum, vmulq_n_f32(scale, x_scale), vcvtq_f32_s32(rows));
}

}  // namespace
}  // namespace neon
}  // namespace kazeia::panel_matvec
