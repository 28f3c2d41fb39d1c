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

/// 16-bit products, each of 4 columns of a row.
template <std::size_t N>
struct Sums {
  int32x4_t row[N][kPanelRows];  // [vector][row]: by column modulo 4

  static constexpr std::size_t kValues = 1;
  static const std::int16_t* activations(const Activations& a) { return a.q; }

  KAZEIA_INLINE void start(std::size_t v, int32x4_t first) {
    for (auto& one : row[v]) one = vshrq_n_s32(first, 2);  // a multiple of 8: a quarter for each column is exact
  }
  KAZEIA_INLINE void add(const neon::Columns8& w, const std::int16_t* x, std::size_t stride) {
    for (std::size_t group = 0; group < 2; ++group) {
      for (std::size_t h = 0; h < 2; ++h) {
        const int16x8_t low = vmovl_s8(vget_low_s8(w.of[group][h]));
        const int16x8_t high = vmovl_s8(vget_high_s8(w.of[group][h]));
        for (std::size_t v = 0; v < N; ++v) {
          const int16x4_t four = vld1_s16(x + v * stride + 4 * group);
          int32x4_t* of = row[v] + 4 * h;
          of[0] = vmlal_s16(of[0], vget_low_s16(low), four);
          of[1] = vmlal_s16(of[1], vget_high_s16(low), four);
          of[2] = vmlal_s16(of[2], vget_low_s16(high), four);
          of[3] = vmlal_s16(of[3], vget_high_s16(high), four);
        }
      }
    }
  }
  [[nodiscard]] KAZEIA_INLINE int32x4_t rows(std::size_t v, std::size_t h) const {
    const int32x4_t* of = row[v] + 4 * h;
    return vpaddq_s32(vpaddq_s32(of[0], of[1]), vpaddq_s32(of[2], of[3]));
  }
};

/// At most two vectors at a time, for their sums to stay in registers; panel by panel, so that the second time the
/// weights come from the cache.
template <class Format>
void blocks(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  if (a.n_vectors == 1) return neon::multiply<Format, Sums<1>, 1>(panels, n_panels, a, y, y_stride);
  if (a.n_vectors == 2) return neon::multiply<Format, Sums<2>, 2>(panels, n_panels, a, y, y_stride);
  Activations rest = a;
  rest.n_vectors -= 2;
  rest.q += 2 * a.n_in;
  rest.scale += 2 * a.n_in / kBlock;
  rest.sum += 2 * a.n_in / kBlock;
  for (std::size_t p = 0; p < n_panels; ++p, panels += Format::kBlockBytes * a.n_in / kBlock, y += kPanelRows) {
    neon::multiply<Format, Sums<2>, 2>(panels, 1, a, y, y_stride);
    blocks<Format>(panels, 1, rest, y + 2 * y_stride, y_stride);
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
  blocks<neon::Q8>(panels, n_panels, a, y, y_stride);
}
void q4_0_neon(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  blocks<neon::Q4>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
