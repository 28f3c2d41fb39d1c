#include <arm_neon.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kazeia/half.h"
#include "vector_ops/vector_ops.h"

namespace kazeia::vector_ops {
namespace {

constexpr std::size_t kLanes = 4;

/// e^x within 2 units in the last place; 0 below -87.3, NaN stays NaN. Cephes' expf: x = n ln 2 + r.
float32x4_t exp4(float32x4_t x) {
  const uint32x4_t vanishes = vcltq_f32(x, vdupq_n_f32(-87.33F));
  x = vmaxq_f32(vminq_f32(x, vdupq_n_f32(88.37F)), vdupq_n_f32(-87.33F));  // both keep NaN
  const float32x4_t n = vrndnq_f32(vmulq_n_f32(x, 1.44269504F));
  float32x4_t r = vfmsq_f32(x, n, vdupq_n_f32(0.693359375F));
  r = vfmsq_f32(r, n, vdupq_n_f32(-2.12194440e-4F));
  float32x4_t p = vdupq_n_f32(1.9875691500e-4F);
  p = vfmaq_f32(vdupq_n_f32(1.3981999507e-3F), p, r);
  p = vfmaq_f32(vdupq_n_f32(8.3334519073e-3F), p, r);
  p = vfmaq_f32(vdupq_n_f32(4.1665795894e-2F), p, r);
  p = vfmaq_f32(vdupq_n_f32(1.6666665459e-1F), p, r);
  p = vfmaq_f32(vdupq_n_f32(5.0000001201e-1F), p, r);
  p = vfmaq_f32(vaddq_f32(r, vdupq_n_f32(1.0F)), p, vmulq_f32(r, r));
  const int32x4_t exponent = vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23);
  const float32x4_t value = vmulq_f32(p, vreinterpretq_f32_s32(exponent));
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(value), vanishes));
}

float32x4_t load_tail(const float* x, std::size_t n, float fill) {
  float lanes[kLanes] = {fill, fill, fill, fill};
  std::memcpy(lanes, x, n * sizeof(float));
  return vld1q_f32(lanes);
}

void store_tail(float* x, std::size_t n, float32x4_t value) {
  float lanes[kLanes];
  vst1q_f32(lanes, value);
  std::memcpy(x, lanes, n * sizeof(float));
}

struct Eight {
  float32x4_t low;
  float32x4_t high;
};

Eight load8(const float* x) { return {vld1q_f32(x), vld1q_f32(x + kLanes)}; }

Eight load8(const std::uint16_t* x) {
  const float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(x));
  return {vcvt_f32_f16(vget_low_f16(half)), vcvt_f32_f16(vget_high_f16(half))};
}

float value(float x) { return x; }
float value(std::uint16_t x) { return half_to_float(x); }

/// Four sums hide the latency of the multiply-add.
template <class B>
float dot_with(const float* a, const B* b, std::size_t n) {
  float32x4_t sum[4] = {vdupq_n_f32(0.0F), vdupq_n_f32(0.0F), vdupq_n_f32(0.0F), vdupq_n_f32(0.0F)};
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const Eight first = load8(b + i);
    const Eight second = load8(b + i + 2 * kLanes);
    sum[0] = vfmaq_f32(sum[0], vld1q_f32(a + i), first.low);
    sum[1] = vfmaq_f32(sum[1], vld1q_f32(a + i + kLanes), first.high);
    sum[2] = vfmaq_f32(sum[2], vld1q_f32(a + i + 2 * kLanes), second.low);
    sum[3] = vfmaq_f32(sum[3], vld1q_f32(a + i + 3 * kLanes), second.high);
  }
  float total = vaddvq_f32(vaddq_f32(vaddq_f32(sum[0], sum[1]), vaddq_f32(sum[2], sum[3])));
  for (; i < n; ++i) total += a[i] * value(b[i]);
  return total;
}

float dot(const float* a, const float* b, std::size_t n) { return dot_with(a, b, n); }

float dot_f16(const float* a, const std::uint16_t* b, std::size_t n) { return dot_with(a, b, n); }

template <class X>
void add_scaled_with(float* y, float a, const X* x, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Eight eight = load8(x + i);
    vst1q_f32(y + i, vfmaq_n_f32(vld1q_f32(y + i), eight.low, a));
    vst1q_f32(y + i + kLanes, vfmaq_n_f32(vld1q_f32(y + i + kLanes), eight.high, a));
  }
  for (; i < n; ++i) y[i] += a * value(x[i]);
}

void add_scaled(float* y, float a, const float* x, std::size_t n) { add_scaled_with(y, a, x, n); }

void add_scaled_f16(float* y, float a, const std::uint16_t* x, std::size_t n) { add_scaled_with(y, a, x, n); }

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* out) {
  const float scale = 1.0F / std::sqrt(dot(x, x, n) / static_cast<float>(n) + eps);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    vst1q_f32(out + i, vmulq_f32(vmulq_n_f32(vld1q_f32(x + i), scale), vld1q_f32(weight + i)));
  }
  for (; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

float32x4_t silu4(float32x4_t gate, float32x4_t up) {
  const float32x4_t e = exp4(vnegq_f32(gate));
  return vmulq_f32(vdivq_f32(gate, vaddq_f32(vdupq_n_f32(1.0F), e)), up);
}

void silu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) vst1q_f32(out + i, silu4(vld1q_f32(gate + i), vld1q_f32(up + i)));
  if (i < n) store_tail(out + i, n - i, silu4(load_tail(gate + i, n - i, 0.0F), load_tail(up + i, n - i, 0.0F)));
}

void softmax(float* x, std::size_t n) {
  const float low = -std::numeric_limits<float>::infinity();
  float32x4_t largest4 = vdupq_n_f32(low);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) largest4 = vmaxq_f32(largest4, vld1q_f32(x + i));
  if (i < n) largest4 = vmaxq_f32(largest4, load_tail(x + i, n - i, low));
  const float32x4_t largest = vdupq_n_f32(vmaxvq_f32(largest4));
  float32x4_t sum4 = vdupq_n_f32(0.0F);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const float32x4_t e = exp4(vsubq_f32(vld1q_f32(x + i), largest));
    vst1q_f32(x + i, e);
    sum4 = vaddq_f32(sum4, e);
  }
  if (i < n) {
    const float32x4_t e = exp4(vsubq_f32(load_tail(x + i, n - i, low), largest));
    store_tail(x + i, n - i, e);
    sum4 = vaddq_f32(sum4, e);
  }
  const float sum = vaddvq_f32(sum4);
  for (i = 0; i < n; ++i) x[i] /= sum;
}

void quantize(const float* x, std::size_t n, std::int16_t* q, float* scale, std::int32_t* sum) {
  for (std::size_t b = 0; b < n / 32; ++b, x += 32, q += 32) {
    float32x4_t largest4 = vdupq_n_f32(0.0F);
    for (std::size_t i = 0; i < 32; i += kLanes) largest4 = vmaxq_f32(largest4, vabsq_f32(vld1q_f32(x + i)));
    const float largest = vmaxvq_f32(largest4);  // NaN where one is
    const bool finite = std::isfinite(largest);
    const float inverse = finite && largest > 1e-30F ? static_cast<float>(kLargestQuant) / largest : 0.0F;
    int32x4_t sum4 = vdupq_n_s32(0);
    for (std::size_t i = 0; i < 32; i += kLanes) {
      int32x4_t whole = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + i), inverse));
      if (!finite) whole = vdupq_n_s32(0);
      vst1_s16(q + i, vqmovn_s32(whole));
      sum4 = vaddq_s32(sum4, whole);
    }
    sum[b] = 8 * vaddvq_s32(sum4);
    scale[b] = finite ? largest / static_cast<float>(kLargestQuant) : std::numeric_limits<float>::quiet_NaN();
  }
}

void to_f16(const float* x, std::size_t n, std::uint16_t* out) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
  for (; i < n; ++i) out[i] = float_to_half(x[i]);
}

}  // namespace

const Table kNeon = {rms_norm, silu_mul, softmax, dot, add_scaled, quantize, dot_f16, add_scaled_f16, to_f16};

}  // namespace kazeia::vector_ops
