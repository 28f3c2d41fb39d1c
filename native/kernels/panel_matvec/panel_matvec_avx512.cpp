// Quantised weights with AVX-512's byte products (VNNI), in registers of 256 bits: twice as many registers as AVX2 has,
// one instruction where AVX2 takes three, and no overflow on the way. f32 and f16 gain nothing: AVX2's are used.
#include <immintrin.h>

#include <cstring>

#include "panel_matvec/panel_matvec.h"
#include "panel_matvec/panel_matvec_x86.h"

#if defined(__GNUC__) && !defined(__clang__)
#define KAZEIA_UNROLL _Pragma("GCC unroll 8")  // otherwise the sums of a block move between registers
#else
#define KAZEIA_UNROLL
#endif

namespace kazeia::panel_matvec {
namespace {

constexpr std::size_t kScaleBytes = 2;

__m256i load(const std::byte* data) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)); }

__m256i four_bytes(const std::int8_t* bytes) {
  std::int32_t four = 0;
  std::memcpy(&four, bytes, sizeof four);
  return _mm256_set1_epi32(four);
}

// The products take one operand without a sign: the weights, made larger by a constant. What that adds to a block's
// sum goes off again: kSums times 8 times the sum of the activations.

/// int8 + 128.
struct Q8 {
  static constexpr std::size_t kBlockBytes = (kScaleBytes + kBlock) * kPanelRows;
  static constexpr int kSums = 16;
  static __m256i group(const std::byte* quants, std::size_t index) {
    return _mm256_xor_si256(load(quants + 32 * index), _mm256_set1_epi8(-128));
  }
};

/// Nibbles as they are: 8 more than they mean.
struct Q4 {
  static constexpr std::size_t kBlockBytes = (kScaleBytes + kBlock / 2) * kPanelRows;
  static constexpr int kSums = 1;
  static __m256i group(const std::byte* quants, std::size_t index) {
    const __m256i both = load(quants + index / 2 * 32);
    return _mm256_and_si256(index % 2 == 0 ? both : _mm256_srli_epi16(both, 4), _mm256_set1_epi8(0x0F));
  }
};

/// P panels side by side, so that each activation is loaded once for all: loads are what there are most of.
/// P panels ahead, the next ones are fetched into the second cache, in one stream: the processor's own fetching follows
/// P streams badly.
template <class Weights, std::size_t N, std::size_t P>
void multiply(const std::byte* block, const Activations& a, const std::int8_t* x, float* y, std::size_t y_stride) {
  const std::size_t n_blocks = a.n_in / kBlock;
  const std::size_t panel_bytes = n_blocks * Weights::kBlockBytes;
  [[maybe_unused]] const std::byte* next = block + P * panel_bytes;
  __m256 sum[P][N];
  for (auto& of_panel : sum) {
    for (auto& one : of_panel) one = _mm256_setzero_ps();
  }
  for (std::size_t b = 0; b < n_blocks; ++b, block += Weights::kBlockBytes, x += 2 * kBlock) {
    if constexpr (P > 1) {
      for (std::size_t i = 0; i < P * Weights::kBlockBytes; i += 64) {  // beyond the matrix nothing happens
        _mm_prefetch(reinterpret_cast<const char*>(next + b * P * Weights::kBlockBytes + i), _MM_HINT_T1);
      }
    }
    __m256i high[P][N];
    __m256i low[P][N];
    for (std::size_t p = 0; p < P; ++p) {
      for (std::size_t v = 0; v < N; ++v) high[p][v] = low[p][v] = _mm256_setzero_si256();
    }
    KAZEIA_UNROLL
    for (std::size_t g = 0; g < kBlock / 4; ++g) {
      __m256i w[P];
      for (std::size_t p = 0; p < P; ++p) w[p] = Weights::group(block + p * panel_bytes + kPanelRows * kScaleBytes, g);
      for (std::size_t v = 0; v < N; ++v) {
        const __m256i x_high = four_bytes(x + 2 * a.n_in * v + 8 * g);
        const __m256i x_low = four_bytes(x + 2 * a.n_in * v + 8 * g + 4);
        for (std::size_t p = 0; p < P; ++p) {
          high[p][v] = _mm256_dpbusd_epi32(high[p][v], w[p], x_high);
          low[p][v] = _mm256_dpbusd_epi32(low[p][v], w[p], x_low);
        }
      }
    }
    for (std::size_t p = 0; p < P; ++p) {
      const auto* halves = reinterpret_cast<const __m128i*>(block + p * panel_bytes);
      const __m256 scale = _mm256_cvtph_ps(_mm_loadu_si128(halves));
      for (std::size_t v = 0; v < N; ++v) {
        const std::size_t at = v * n_blocks + b;
        const __m256i product = _mm256_add_epi32(_mm256_slli_epi32(high[p][v], 8), low[p][v]);
        const __m256i rows = _mm256_sub_epi32(product, _mm256_set1_epi32(Weights::kSums * a.sum[at]));
        sum[p][v] =
            _mm256_fmadd_ps(_mm256_mul_ps(scale, _mm256_set1_ps(a.scale[at])), _mm256_cvtepi32_ps(rows), sum[p][v]);
      }
    }
  }
  for (std::size_t p = 0; p < P; ++p) {
    for (std::size_t v = 0; v < N; ++v) _mm256_storeu_ps(y + v * y_stride + p * kPanelRows, sum[p][v]);
  }
}

template <class Weights, std::size_t N>
void all_panels(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  // One vector is bound by memory: one stream, which the processor fetches better than we ask for.
  constexpr std::size_t kAtOnce = N == 1 ? 1 : 2;
  const std::size_t panel_bytes = a.n_in / kBlock * Weights::kBlockBytes;
  const std::int8_t* x = split_bytes_avx2(a);
  std::size_t p = 0;
  for (; p + kAtOnce <= n_panels; p += kAtOnce) {
    multiply<Weights, N, kAtOnce>(panels + p * panel_bytes, a, x, y + p * kPanelRows, y_stride);
  }
  if (p < n_panels) multiply<Weights, N, 1>(panels + p * panel_bytes, a, x, y + p * kPanelRows, y_stride);
}

/// One instance for each number of vectors: the sums then stay in registers.
template <class Weights>
void run(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  switch (a.n_vectors) {
    case 1:
      return all_panels<Weights, 1>(panels, n_panels, a, y, y_stride);
    case 2:
      return all_panels<Weights, 2>(panels, n_panels, a, y, y_stride);
    case 3:
      return all_panels<Weights, 3>(panels, n_panels, a, y, y_stride);
    default:
      return all_panels<Weights, 4>(panels, n_panels, a, y, y_stride);
  }
}

}  // namespace

void q8_0_avx512(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  run<Q8>(panels, n_panels, a, y, y_stride);
}
void q4_0_avx512(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  run<Q4>(panels, n_panels, a, y, y_stride);
}

}  // namespace kazeia::panel_matvec
