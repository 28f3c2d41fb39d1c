#include <arm_neon.h>

#include <vector>

#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_neon.h"

namespace kazeia::panel_matvec {
namespace {

struct Rows8 {
  float32x4_t low;   // rows 0 to 3
  float32x4_t high;  // rows 4 to 7
};

Rows8 weights(const float* panel, std::size_t column) {
  return {vld1q_f32(panel + column * kPanelRows), vld1q_f32(panel + column * kPanelRows + 4)};
}

Rows8 weights(const std::uint16_t* panel, std::size_t column) {
  const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(panel + column * kPanelRows));
  return {vcvt_f32_f16(vget_low_f16(half)), vcvt_f32_f16(vget_high_f16(half))};
}

template <class Weight>
void plain(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  for (std::size_t p = 0; p < n_panels; ++p) {
    const auto* panel = reinterpret_cast<const Weight*>(panels) + p * kPanelRows * a.n_in;
    float32x4_t low[kMaxVectors][2];
    float32x4_t high[kMaxVectors][2];
    for (std::size_t v = 0; v < a.n_vectors; ++v) {
      low[v][0] = low[v][1] = high[v][0] = high[v][1] = vdupq_n_f32(0.0F);
    }
    for (std::size_t c = 0; c < a.n_in; c += 2) {
      for (std::size_t i = 0; i < 2; ++i) {
        const Rows8 w = weights(panel, c + i);
        for (std::size_t v = 0; v < a.n_vectors; ++v) {
          const float x = a.x[v * a.n_in + c + i];
          low[v][i] = vfmaq_n_f32(low[v][i], w.low, x);
          high[v][i] = vfmaq_n_f32(high[v][i], w.high, x);
        }
      }
    }
    for (std::size_t v = 0; v < a.n_vectors; ++v) {
      vst1q_f32(y + v * y_stride + p * kPanelRows, vaddq_f32(low[v][0], low[v][1]));
      vst1q_f32(y + v * y_stride + p * kPanelRows + 4, vaddq_f32(high[v][0], high[v][1]));
    }
  }
}

/// Adds 4 columns of rows 4h to 4h + 3: weights [row][column] as int8.
void add_group(int8x16_t w, int16x4_t x, int32x4_t* rows) {
  const int16x8_t low = vmovl_s8(vget_low_s8(w));
  const int16x8_t high = vmovl_s8(vget_high_s8(w));
  rows[0] = vmlal_s16(rows[0], vget_low_s16(low), x);
  rows[1] = vmlal_s16(rows[1], vget_high_s16(low), x);
  rows[2] = vmlal_s16(rows[2], vget_low_s16(high), x);
  rows[3] = vmlal_s16(rows[3], vget_high_s16(high), x);
}

int32x4_t sums(const int32x4_t* rows) { return vpaddq_s32(vpaddq_s32(rows[0], rows[1]), vpaddq_s32(rows[2], rows[3])); }

/// unpack(quants of the block, group, half): the 16 weights of 4 columns of rows 4 * half to 4 * half + 3.
template <class Unpack>
void blocks(const std::byte* panels, WeightType type, std::size_t n_panels, const Activations& a, float* y,
            std::size_t y_stride, Unpack unpack) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::size_t block_bytes = row_bytes(type, kBlock) * kPanelRows;
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    float32x4_t sum[kMaxVectors][2];
    for (std::size_t v = 0; v < a.n_vectors; ++v) sum[v][0] = sum[v][1] = vdupq_n_f32(0.0F);
    for (std::size_t b = 0; b < n_blocks; ++b, block += block_bytes) {
      const std::byte* quants = block + kPanelRows * 2;
      const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const std::uint16_t*>(block)));
      const float32x4_t w_scale[2] = {vcvt_f32_f16(vget_low_f16(half)), vcvt_f32_f16(vget_high_f16(half))};
      for (std::size_t v = 0; v < a.n_vectors; ++v) {
        const std::int16_t* q = a.q + v * a.n_in + b * kBlock;
        int32x4_t rows[kPanelRows];
        for (auto& row : rows) row = vdupq_n_s32(0);
        for (std::size_t g = 0; g < kBlock / 4; ++g) {
          const int16x4_t x = vld1_s16(q + g * 4);
          add_group(unpack(quants, g, 0), x, rows);
          add_group(unpack(quants, g, 1), x, rows + 4);
        }
        for (std::size_t h = 0; h < 2; ++h) {
          const float32x4_t scale = vmulq_n_f32(w_scale[h], a.scale[v * n_blocks + b]);
          sum[v][h] = vfmaq_f32(sum[v][h], scale, vcvtq_f32_s32(sums(rows + 4 * h)));
        }
      }
    }
    for (std::size_t v = 0; v < a.n_vectors; ++v) {
      vst1q_f32(y + v * y_stride + p * kPanelRows, sum[v][0]);
      vst1q_f32(y + v * y_stride + p * kPanelRows + 4, sum[v][1]);
    }
  }
}

}  // namespace

const std::int8_t* split_bytes(const Activations& a) {
  thread_local std::vector<std::int8_t> bytes;  // grows only
  const std::size_t n = a.n_vectors * a.n_in;
  if (bytes.size() < 2 * n) bytes.resize(2 * n);
  for (std::size_t i = 0; i < n; i += 8) {
    const int16x8_t q = vld1q_s16(a.q + i);
    vst1_s8(bytes.data() + 2 * i, vrshrn_n_s16(q, 8));  // rounded, so that what is left fits a signed byte
    vst1_s8(bytes.data() + 2 * i + 8, vmovn_s16(q));
  }
  return bytes.data();
}

void f32_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  plain<float>(panels, n_panels, a, y, y_stride);
}
void f16_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  plain<std::uint16_t>(panels, n_panels, a, y, y_stride);
}
void q8_0_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  blocks(panels, WeightType::q8_0, n_panels, a, y, y_stride,
         [](const std::byte* block, std::size_t group, std::size_t half) {
           return vld1q_s8(reinterpret_cast<const std::int8_t*>(block) + group * 32 + half * 16);
         });
}
void q4_0_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  blocks(panels, WeightType::q4_0, n_panels, a, y, y_stride,
         [](const std::byte* block, std::size_t group, std::size_t half) {
           const uint8x16_t both = vld1q_u8(reinterpret_cast<const std::uint8_t*>(block) + group / 2 * 32 + half * 16);
           const uint8x16_t one = group % 2 == 0 ? vandq_u8(both, vdupq_n_u8(0x0F)) : vshrq_n_u8(both, 4);
           return vsubq_s8(vreinterpretq_s8_u8(one), vdupq_n_s8(8));
         });
}

}  // namespace kazeia::panel_matvec
