// q8_0 and q4_0 with the 8-bit dot products of ARMv8.2: each adds 4 columns of 4 rows.
#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_neon.h"

namespace kazeia::panel_matvec {
namespace {

template <std::size_t N>
struct Sums {
  int32x4_t high[N][2];  // [vector][h]: rows 4h to 4h + 3
  int32x4_t low[N][2];

  static constexpr std::size_t kValues = 2;
  static const std::int8_t* activations(const Activations& a) { return split_bytes(a); }

  KAZEIA_INLINE void start(std::size_t v, int32x4_t first) {
    high[v][0] = high[v][1] = vdupq_n_s32(0);
    low[v][0] = low[v][1] = first;
  }
  KAZEIA_INLINE void add(const neon::Columns8& w, const std::int8_t* x, std::size_t stride) {
    for (std::size_t v = 0; v < N; ++v) {
      const int8x16_t bytes = vld1q_s8(x + v * stride);
      for (std::size_t h = 0; h < 2; ++h) {
        high[v][h] = vdotq_laneq_s32(high[v][h], w.of[0][h], bytes, 0);
        low[v][h] = vdotq_laneq_s32(low[v][h], w.of[0][h], bytes, 2);
        high[v][h] = vdotq_laneq_s32(high[v][h], w.of[1][h], bytes, 1);
        low[v][h] = vdotq_laneq_s32(low[v][h], w.of[1][h], bytes, 3);
      }
    }
  }
  [[nodiscard]] KAZEIA_INLINE int32x4_t rows(std::size_t v, std::size_t h) const {
    return vmlaq_n_s32(low[v][h], high[v][h], 256);
  }
};

}  // namespace

void q8_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride) {
  neon::dispatch<neon::Q8, Sums>(panels, n_panels, a, y, y_stride);
}
void q4_0_neon_dotprod(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                       std::size_t y_stride) {
  neon::dispatch<neon::Q4, Sums>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
