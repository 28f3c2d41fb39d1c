#include <immintrin.h>

#include <cstring>
#include <vector>

#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_x86.h"

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

/// Adds a block's integer sums, one lane a row, to the rows' float32 sums. scales: the block's own, [8] binary16.
__m256 add_block(const std::byte* scales, float x_scale, __m256i rows, __m256 sum) {
  const __m256 scale = _mm256_mul_ps(_mm256_cvtph_ps(_mm_loadu_si128(at128(scales))), _mm256_set1_ps(x_scale));
  return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(rows), sum);
}

template <std::size_t N>
void q8_0(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  constexpr std::size_t kBlockBytes = 34 * kPanelRows;
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    __m256 sum[N];
    for (auto& one : sum) one = _mm256_setzero_ps();
    for (std::size_t b = 0; b < n_blocks; ++b, block += kBlockBytes) {
      const std::byte* quants = block + kPanelRows * 2;
      __m256i low[N];
      __m256i high[N];
      for (std::size_t v = 0; v < N; ++v) low[v] = high[v] = _mm256_setzero_si256();
      for (std::size_t g = 0; g < 8; ++g, quants += 32) {
        add_group<N>(_mm256_cvtepi8_epi16(_mm_loadu_si128(at128(quants))),
                     _mm256_cvtepi8_epi16(_mm_loadu_si128(at128(quants + 16))), a, b * kBlock + g * 4, low, high);
      }
      for (std::size_t v = 0; v < N; ++v) {
        const __m256i rows = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low[v], high[v]), _MM_SHUFFLE(3, 1, 2, 0));
        sum[v] = add_block(block, a.scale[v * n_blocks + b], rows, sum[v]);
      }
    }
    for (std::size_t v = 0; v < N; ++v) _mm256_storeu_ps(y + v * y_stride + p * kPanelRows, sum[v]);
  }
}

__m256i four_bytes(const std::int8_t* bytes) {
  std::int32_t four = 0;
  std::memcpy(&four, bytes, sizeof four);
  return _mm256_set1_epi32(four);
}

/// Nibbles are unsigned bytes, so they multiply bytes directly: 8 rows of 4 columns at a time. A block's sums of
/// 16-bit pairs stay within 8 * 2 * 15 * 128 = 30720.
template <std::size_t N>
void q4_0(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  constexpr std::size_t kBlockBytes = 18 * kPanelRows;
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::int8_t* bytes = split_bytes_avx2(a);
  const __m256i nibbles = _mm256_set1_epi8(0x0F);
  const __m256i ones = _mm256_set1_epi16(1);
  const std::byte* block = panels;
  for (std::size_t p = 0; p < n_panels; ++p) {
    __m256 sum[N];
    for (auto& one : sum) one = _mm256_setzero_ps();
    for (std::size_t b = 0; b < n_blocks; ++b, block += kBlockBytes) {
      const std::byte* quants = block + kPanelRows * 2;
      __m256i high[N];
      __m256i low[N];
      for (std::size_t v = 0; v < N; ++v) low[v] = high[v] = _mm256_setzero_si256();
      for (std::size_t pair = 0; pair < 4; ++pair, quants += 32) {
        const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(quants));
        const __m256i group[2] = {_mm256_and_si256(both, nibbles),
                                  _mm256_and_si256(_mm256_srli_epi16(both, 4), nibbles)};
        for (std::size_t v = 0; v < N; ++v) {
          const std::int8_t* x = bytes + 2 * (v * a.n_in + b * kBlock + pair * 8);
          for (std::size_t i = 0; i < 2; ++i, x += 8) {
            high[v] = _mm256_add_epi16(high[v], _mm256_maddubs_epi16(group[i], four_bytes(x)));
            low[v] = _mm256_add_epi16(low[v], _mm256_maddubs_epi16(group[i], four_bytes(x + 4)));
          }
        }
      }
      for (std::size_t v = 0; v < N; ++v) {
        const __m256i product =
            _mm256_add_epi32(_mm256_slli_epi32(_mm256_madd_epi16(high[v], ones), 8), _mm256_madd_epi16(low[v], ones));
        const __m256i rows = _mm256_sub_epi32(product, _mm256_set1_epi32(a.sum[v * n_blocks + b]));
        sum[v] = add_block(block, a.scale[v * n_blocks + b], rows, sum[v]);
      }
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

const std::int8_t* split_bytes_avx2(const Activations& a) {
  thread_local std::vector<std::int8_t> bytes;
  const std::size_t n = a.n_vectors * a.n_in;
  if (bytes.size() < 2 * n) bytes.resize(2 * n);
  const __m256i half = _mm256_set1_epi16(128);
  const __m256i low_bytes = _mm256_set1_epi16(0x00FF);
  const __m128i in_group = _mm_setr_epi8(1, 3, 5, 7, 0, 2, 4, 6, 9, 11, 13, 15, 8, 10, 12, 14);
  const __m256i order = _mm256_broadcastsi128_si256(in_group);
  for (std::size_t i = 0; i < n; i += 16) {
    const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.q + i));
    // The low byte is taken as it is; where it is negative as a signed one, the high byte is one more.
    const __m256i both = _mm256_blendv_epi8(_mm256_add_epi16(q, half), q, low_bytes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes.data() + 2 * i), _mm256_shuffle_epi8(both, order));
  }
  return bytes.data();
}

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
