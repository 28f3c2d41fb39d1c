// q8_0 and q4_0 with the 8-bit dot products of ARMv8.2: each adds 4 columns of 4 rows.
#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_neon.h"

namespace kazeia::panel_matvec {
namespace {

/// One instance for each number of vectors: the sums then stay in registers.
template <class Format, std::size_t N>
void multiply(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::int8_t* bytes = split_bytes(a);
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    float32x4_t sum[N][2];
    for (auto& of_vector : sum) of_vector[0] = of_vector[1] = vdupq_n_f32(0.0F);
    for (std::size_t b = 0; b < n_blocks; ++b, block += Format::kBlockBytes) {
      int32x4_t high[N][2];
      int32x4_t low[N][2];
      for (std::size_t v = 0; v < N; ++v) {
        high[v][0] = high[v][1] = vdupq_n_s32(0);
        low[v][0] = low[v][1] = Format::start(a.sum + v * n_blocks + b);
      }
      for (std::size_t c = 0; c < kBlock / 8; ++c) {
        const neon::Columns8 w = Format::columns(block + kPanelRows * 2, c);
        for (std::size_t v = 0; v < N; ++v) {
          const int8x16_t x = vld1q_s8(bytes + 2 * (v * a.n_in + b * kBlock + c * 8));
          for (std::size_t h = 0; h < 2; ++h) {
            high[v][h] = vdotq_laneq_s32(high[v][h], w.of[0][h], x, 0);
            low[v][h] = vdotq_laneq_s32(low[v][h], w.of[0][h], x, 2);
            high[v][h] = vdotq_laneq_s32(high[v][h], w.of[1][h], x, 1);
            low[v][h] = vdotq_laneq_s32(low[v][h], w.of[1][h], x, 3);
          }
        }
      }
      const neon::Scales scales = neon::scales(block);
      for (std::size_t v = 0; v < N; ++v) {
        const float x_scale = a.scale[v * n_blocks + b];
        for (std::size_t h = 0; h < 2; ++h) {
          sum[v][h] = neon::add_block(scales.of[h], x_scale, high[v][h], low[v][h], sum[v][h]);
        }
      }
    }
    for (std::size_t v = 0; v < N; ++v) {
      vst1q_f32(y + v * y_stride + p * kPanelRows, sum[v][0]);
      vst1q_f32(y + v * y_stride + p * kPanelRows + 4, sum[v][1]);
    }
  }
}

template <class Format>
void dispatch(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  switch (a.n_vectors) {
    case 1:
      return multiply<Format, 1>(panels, n_panels, a, y, y_stride);
    case 2:
      return multiply<Format, 2>(panels, n_panels, a, y, y_stride);
    case 3:
      return multiply<Format, 3>(panels, n_panels, a, y, y_stride);
    default:
      return multiply<Format, 4>(panels, n_panels, a, y, y_stride);
  }
}

}  // namespace

void q8_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride) {
  dispatch<neon::Q8>(panels, n_panels, a, y, y_stride);
}
void q4_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride) {
  dispatch<neon::Q4>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
