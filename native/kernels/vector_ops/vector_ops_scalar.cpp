#include <algorithm>
#include <cmath>
#include <limits>

#include "kazeia/half.h"
#include "vector_ops/vector_ops.h"

namespace kazeia::vector_ops {
namespace {

constexpr std::size_t kBlock = 32;

void rms_norm(const float* x, const float* weight, std::size_t n, float eps, float* out) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  const float scale = 1.0F / std::sqrt(sum / static_cast<float>(n) + eps);
  for (std::size_t i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

void silu_mul(const float* gate, const float* up, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void softmax(float* x, std::size_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, x[i]);
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::exp(x[i] - largest);
    sum += x[i];
  }
  for (std::size_t i = 0; i < n; ++i) x[i] /= sum;
}

float dot(const float* a, const float* b, std::size_t n) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(float* y, float a, const float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void quantize(const float* x, std::size_t n, std::int16_t* q, float* scale, std::int32_t* sum) {
  for (std::size_t b = 0; b < n / kBlock; ++b, x += kBlock, q += kBlock) {
    float largest = 0.0F;
    bool finite = true;
    for (std::size_t i = 0; i < kBlock; ++i) {
      finite = finite && std::isfinite(x[i]);
      largest = std::max(largest, std::abs(x[i]));
    }
    // Beyond a largest value of 1e-33 or so the inverse would overflow: such a block is zero.
    const float inverse = largest > 1e-30F ? static_cast<float>(kLargestQuant) / largest : 0.0F;
    std::int32_t total = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      q[i] = finite ? static_cast<std::int16_t>(std::nearbyint(x[i] * inverse)) : std::int16_t{0};
      total += q[i];
    }
    scale[b] = finite ? largest / static_cast<float>(kLargestQuant) : std::numeric_limits<float>::quiet_NaN();
    sum[b] = 8 * total;
  }
}

float dot_f16(const float* a, const std::uint16_t* b, std::size_t n) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * half_to_float(b[i]);
  return sum;
}

void add_scaled_f16(float* y, float a, const std::uint16_t* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * half_to_float(x[i]);
}

void to_f16(const float* x, std::size_t n, std::uint16_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = float_to_half(x[i]);
}

}  // namespace

const Table kScalar = {rms_norm, silu_mul, softmax, dot, add_scaled, quantize, dot_f16, add_scaled_f16, to_f16};

}  // namespace kazeia::vector_ops
