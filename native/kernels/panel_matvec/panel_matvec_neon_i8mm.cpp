// q8_0 and q4_0 with 8-bit matrix products: each adds 8 columns of 2 rows, times the high and the low bytes of a
// vector. The weights lie in fours of columns and must be put in eights first, once for all vectors: one vector alone
// would gain nothing over dot products, so it takes those.
#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_neon.h"

namespace kazeia::panel_matvec {
namespace {

/// 8 columns of the rows 2r and 2r + 1, as [row][column].
struct Rows {
  int8x16_t of[4];
};

Rows pairs_of_rows(const neon::Columns8& w) {
  Rows rows;
  for (std::size_t h = 0; h < 2; ++h) {
    const int32x4_t group0 = vreinterpretq_s32_s8(w.of[0][h]);
    const int32x4_t group1 = vreinterpretq_s32_s8(w.of[1][h]);
    rows.of[2 * h] = vreinterpretq_s8_s32(vzip1q_s32(group0, group1));
    rows.of[2 * h + 1] = vreinterpretq_s8_s32(vzip2q_s32(group0, group1));
  }
  return rows;
}

template <class Format, std::size_t N>
void multiply(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::int8_t* bytes = split_bytes(a);
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    float32x4_t sum[N][2];
    for (auto& of_vector : sum) of_vector[0] = of_vector[1] = vdupq_n_f32(0.0F);
    for (std::size_t b = 0; b < n_blocks; ++b, block += Format::kBlockBytes) {
      int32x4_t products[N][4];  // [vector][pair of rows]: (row 0 high, low, row 1 high, low)
      for (std::size_t v = 0; v < N; ++v) {
        const int32x4_t start = vzip1q_s32(vdupq_n_s32(0), Format::start(a.sum + v * n_blocks + b));
        for (auto& pair : products[v]) pair = start;
      }
      for (std::size_t c = 0; c < kBlock / 8; ++c) {
        const Rows rows = pairs_of_rows(Format::columns(block + kPanelRows * 2, c));
        for (std::size_t v = 0; v < N; ++v) {
          const int8x16_t x = vld1q_s8(bytes + 2 * (v * a.n_in + b * kBlock + c * 8));
          for (std::size_t pair = 0; pair < 4; ++pair) {
            products[v][pair] = vmmlaq_s32(products[v][pair], rows.of[pair], x);
          }
        }
      }
      const neon::Scales scales = neon::scales(block);
      for (std::size_t v = 0; v < N; ++v) {
        const float x_scale = a.scale[v * n_blocks + b];
        for (std::size_t h = 0; h < 2; ++h) {
          const int32x4_t high = vuzp1q_s32(products[v][2 * h], products[v][2 * h + 1]);
          const int32x4_t low = vuzp2q_s32(products[v][2 * h], products[v][2 * h + 1]);
          sum[v][h] = neon::add_block(scales.of[h], x_scale, high, low, sum[v][h]);
        }
      }
    }
    for (std::size_t v = 0; v < N; ++v) {
      vst1q_f32(y + v * y_stride + p * kPanelRows, sum[v][0]);
      vst1q_f32(y + v * y_stride + p * kPanelRows + 4, sum[v][1]);
    }
  }
}

/// Two to four vectors; one instance for each number: the sums then stay in registers.
template <class Format>
void dispatch(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  switch (a.n_vectors) {
    case 2:
      return multiply<Format, 2>(panels, n_panels, a, y, y_stride);
    case 3:
      return multiply<Format, 3>(panels, n_panels, a, y, y_stride);
    default:
      return multiply<Format, 4>(panels, n_panels, a, y, y_stride);
  }
}

}  // namespace

void q8_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride) {
  if (a.n_vectors == 1) return q8_0_neon_dotprod(panels, n_panels, a, y, y_stride);
  dispatch<neon::Q8>(panels, n_panels, a, y, y_stride);
}
void q4_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride) {
  if (a.n_vectors == 1) return q4_0_neon_dotprod(panels, n_panels, a, y, y_stride);
  dispatch<neon::Q4>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
