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

}  // namespace kazeia
