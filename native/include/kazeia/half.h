// IEEE 754 binary16 <-> binary32 without hardware: for packing weights and for the scalar kernels.
#pragma once

#include <cstdint>
#include <cstring>

namespace kazeia {

/// Exact.
inline float half_to_float(std::uint16_t half) {
  const std::uint32_t all = half;
  const std::uint32_t sign = (all & 0x8000U) << 16U;
  const std::uint32_t exponent = (all >> 10U) & 0x1FU;
  std::uint32_t mantissa = all & 0x3FFU;
  std::uint32_t bits = 0;
  if (exponent == 0x1FU) {
    bits = sign | 0x7F800000U | (mantissa << 13U);
  } else if (exponent != 0) {
    bits = sign | ((exponent + 112U) << 23U) | (mantissa << 13U);
  } else if (mantissa == 0) {
    bits = sign;
  } else {
    std::uint32_t shift = 0;
    while ((mantissa & 0x400U) == 0) {
      mantissa <<= 1U;
      ++shift;
    }
    bits = sign | ((113U - shift) << 23U) | ((mantissa & 0x3FFU) << 13U);
  }
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// To the nearest, even at a tie; beyond 65504 infinite; NaN stays NaN.
inline std::uint16_t float_to_half(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65536 and more
  std::uint32_t mantissa = magnitude & 0x7FFFFFU;
  std::uint32_t exponent = magnitude >> 23U;
  std::uint32_t dropped = 13;
  if (exponent < 113) {  // a denormal half: the leading 1 is written out
    if (exponent < 102) return static_cast<std::uint16_t>(sign);
    mantissa |= 0x800000U;
    dropped += 113 - exponent;
    exponent = 112;
  }
  std::uint32_t half = ((exponent - 112U) << 10U) + (mantissa >> dropped);
  const std::uint32_t rest = mantissa & ((1U << dropped) - 1U);
  const std::uint32_t tie = 1U << (dropped - 1U);
  if (rest > tie || (rest == tie && (half & 1U) != 0)) ++half;  // may carry into the exponent, as it should
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace kazeia
