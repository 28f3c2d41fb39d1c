#include <immintrin.h>

#include <cstring>

#include "panel_matvec/panel_matvec.h"

namespace kazeia::panel_matvec {
namespace {

const __m128i* at128(const std::byte* data) { return reinterpret_cast<const __m128i*>(data); }

__m256 weights(const float* panel, std::size_t column) { return _mm256_loadu_ps(panel + column * kPanelRows); }

__m256 weights(const std::uint16_t* panel, std::size_t column) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(panel + column * kPanelRows)));
}

/// f32 and f16: lane r is row r. Four sums by column modulo 4 hide the latency of the multiply-add.
template <std::size_t N, class Weight>
void plain(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  for (std::size_t p = 0; p < n_panels; ++p) {
    const auto* panel = reinterpret_cast<const Weight*>(panels) + p * kPanelRows * a.n_in;
    __m256 sum[N][4];
    for (auto& of_vector : sum) {
      for (auto& one : of_vector) one = _mm256_setzero_ps();
    }
    for (std::size_t c = 0; c < a.n_in; c += 4) {
      for (std::size_t i = 0; i < 4; ++i) {
        const __m256 w = weights(panel, c + i);
        for (std::size_t v = 0; v < N; ++v) {
          sum[v][i] = _mm256_fmadd_ps(w, _mm256_broadcast_ss(a.x + v * a.n_in + c + i), sum[v][i]);
        }
      }
    }
    for (std::size_t v = 0; v < N; ++v) {
      _mm256_storeu_ps(y + v * y_stride + p * kPanelRows,
                       _mm256_add_ps(_mm256_add_ps(sum[v][0], sum[v][1]), _mm256_add_ps(sum[v][2], sum[v][3])));
    }
  }
}

__m256i four_activations(const std::int16_t* q) {
  long long four = 0;
  std::memcpy(&four, q, sizeof four);
  return _mm256_set1_epi64x(four);
}

/// Adds a group of 4 columns. rows03, rows47: 16 weights each as int16, [row][column].
template <std::size_t N>
void add_group(__m256i rows03, __m256i rows47, const Activations& a, std::size_t column, __m256i (&low)[N],
               __m256i (&high)[N]) {
  for (std::size_t v = 0; v < N; ++v) {
    const __m256i x = four_activations(a.q + v * a.n_in + column);
    low[v] = _mm256_add_epi32(low[v], _mm256_madd_epi16(rows03, x));
    high[v] = _mm256_add_epi32(high[v], _mm256_madd_epi16(rows47, x));
  }
}

/// Adds the block's integer sums, two lanes a row, to the rows' float32 sums.
template <std::size_t N>
void add_block(const std::byte* scales, std::size_t b, const Activations& a, const __m256i (&low)[N],
               const __m256i (&high)[N], bool offset_by_8, __m256 (&sum)[N]) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const __m256 w_scale = _mm256_cvtph_ps(_mm_loadu_si128(at128(scales + b * kPanelRows * 2)));
  for (std::size_t v = 0; v < N; ++v) {
    __m256i rows = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low[v], high[v]), _MM_SHUFFLE(3, 1, 2, 0));
    if (offset_by_8) rows = _mm256_sub_epi32(rows, _mm256_set1_epi32(a.sum[v * n_blocks + b]));
    const __m256 scale = _mm256_mul_ps(w_scale, _mm256_set1_ps(a.scale[v * n_blocks + b]));
    sum[v] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(rows), sum[v]);
  }
}

template <std::size_t N>
void q8_0(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::size_t panel_bytes = row_bytes(WeightType::q8_0, a.n_in) * kPanelRows;
  for (std::size_t p = 0; p < n_panels; ++p) {
    const std::byte* scales = panels + p * panel_bytes;
    const std::byte* quants = scales + n_blocks * kPanelRows * 2;
    __m256 sum[N];
    for (auto& one : sum) one = _mm256_setzero_ps();
    for (std::size_t b = 0; b < n_blocks; ++b) {
      __m256i low[N];
      __m256i high[N];
      for (std::size_t v = 0; v < N; ++v) low[v] = high[v] = _mm256_setzero_si256();
      for (std::size_t g = 0; g < 8; ++g, quants += 32) {
        add_group<N>(_mm256_cvtepi8_epi16(_mm_loadu_si128(at128(quants))),
                     _mm256_cvtepi8_epi16(_mm_loadu_si128(at128(quants + 16))), a, b * kBlock + g * 4, low, high);
      }
      add_block<N>(scales, b, a, low, high, false, sum);
    }
    for (std::size_t v = 0; v < N; ++v) _mm256_storeu_ps(y + v * y_stride + p * kPanelRows, sum[v]);
  }
}

template <std::size_t N>
void q4_0(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::size_t panel_bytes = row_bytes(WeightType::q4_0, a.n_in) * kPanelRows;
  const __m256i nibbles = _mm256_set1_epi8(0x0F);
  for (std::size_t p = 0; p < n_panels; ++p) {
    const std::byte* scales = panels + p * panel_bytes;
    const std::byte* quants = scales + n_blocks * kPanelRows * 2;
    __m256 sum[N];
    for (auto& one : sum) one = _mm256_setzero_ps();
    for (std::size_t b = 0; b < n_blocks; ++b) {
      __m256i low[N];
      __m256i high[N];
      for (std::size_t v = 0; v < N; ++v) low[v] = high[v] = _mm256_setzero_si256();
      for (std::size_t pair = 0; pair < 4; ++pair, quants += 32) {
        const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(quants));
        const __m256i first = _mm256_and_si256(both, nibbles);
        const __m256i second = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibbles);
        const std::size_t column = b * kBlock + pair * 8;
        add_group<N>(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(first)),
                     _mm256_cvtepu8_epi16(_mm256_extracti128_si256(first, 1)), a, column, low, high);
        add_group<N>(_mm256_cvtepu8_epi16(_mm256_castsi256_si128(second)),
                     _mm256_cvtepu8_epi16(_mm256_extracti128_si256(second, 1)), a, column + 4, low, high);
      }
      add_block<N>(scales, b, a, low, high, true, sum);
    }
    for (std::size_t v = 0; v < N; ++v) _mm256_storeu_ps(y + v * y_stride + p * kPanelRows, sum[v]);
  }
}

/// One instance for each number of vectors: the sums then stay in registers.
template <template <std::size_t> class Kernel>
void dispatch(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  switch (a.n_vectors) {
    case 1:
      return Kernel<1>::kRun(panels, n_panels, a, y, y_stride);
    case 2:
      return Kernel<2>::kRun(panels, n_panels, a, y, y_stride);
    case 3:
      return Kernel<3>::kRun(panels, n_panels, a, y, y_stride);
    default:
      return Kernel<4>::kRun(panels, n_panels, a, y, y_stride);
  }
}

template <std::size_t N>
struct F32 {
  static constexpr auto kRun = plain<N, float>;
};
template <std::size_t N>
struct F16 {
  static constexpr auto kRun = plain<N, std::uint16_t>;
};
template <std::size_t N>
struct Q8 {
  static constexpr auto kRun = q8_0<N>;
};
template <std::size_t N>
struct Q4 {
  static constexpr auto kRun = q4_0<N>;
};

}  // namespace

void f32_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  dispatch<F32>(panels, n_panels, a, y, y_stride);
}
void f16_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  dispatch<F16>(panels, n_panels, a, y, y_stride);
}
void q8_0_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  dispatch<Q8>(panels, n_panels, a, y, y_stride);
}
void q4_0_avx2(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  dispatch<Q4>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
