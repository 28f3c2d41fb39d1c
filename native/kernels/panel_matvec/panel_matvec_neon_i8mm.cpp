// q8_0 and q4_0 with 8-bit matrix products: each adds 8 columns of 2 rows, times the high and the low bytes of a
// vector. The weights lie in fours of columns and must be put in eights first, once for all vectors: one vector alone
// would gain nothing over dot products, so it takes those.
#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_neon.h"

namespace kazeia::panel_matvec {
namespace {

template <std::size_t N>
struct Sums {
  int32x4_t pair[N][4];  // [vector][pair of rows]: (row 0 high, low, row 1 high, low)

  static constexpr std::size_t kValues = 2;
  static const std::int8_t* activations(const Activations& a) { return split_bytes(a); }

  KAZEIA_INLINE void start(std::size_t v, int32x4_t first) {
    for (auto& one : pair[v]) one = vzip1q_s32(vdupq_n_s32(0), first);
  }
  KAZEIA_INLINE void add(const neon::Columns8& w, const std::int8_t* x, std::size_t stride) {
    int8x16_t two_rows[4];  // of 8 columns, as [row][column]
    for (std::size_t h = 0; h < 2; ++h) {
      const int32x4_t group0 = vreinterpretq_s32_s8(w.of[0][h]);
      const int32x4_t group1 = vreinterpretq_s32_s8(w.of[1][h]);
      two_rows[2 * h] = vreinterpretq_s8_s32(vzip1q_s32(group0, group1));
      two_rows[2 * h + 1] = vreinterpretq_s8_s32(vzip2q_s32(group0, group1));
    }
    for (std::size_t v = 0; v < N; ++v) {
      const int8x16_t bytes = vld1q_s8(x + v * stride);
      for (std::size_t i = 0; i < 4; ++i) pair[v][i] = vmmlaq_s32(pair[v][i], two_rows[i], bytes);
    }
  }
  [[nodiscard]] KAZEIA_INLINE int32x4_t rows(std::size_t v, std::size_t h) const {
    const int32x4_t high = vuzp1q_s32(pair[v][2 * h], pair[v][2 * h + 1]);
    const int32x4_t low = vuzp2q_s32(pair[v][2 * h], pair[v][2 * h + 1]);
    return vmlaq_n_s32(low, high, 256);
  }
};

}  // namespace

void q8_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride) {
  if (a.n_vectors == 1) return q8_0_neon_dotprod(panels, n_panels, a, y, y_stride);
  neon::dispatch<neon::Q8, Sums>(panels, n_panels, a, y, y_stride);
}
void q4_0_neon_i8mm(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y,
                    std::size_t y_stride) {
  if (a.n_vectors == 1) return q4_0_neon_dotprod(panels, n_panels, a, y, y_stride);
  neon::dispatch<neon::Q4, Sums>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
