#include <cstring>

#include "kazeia/half.h"
#include "panel_matvec/panel_matvec.h"

namespace kazeia::panel_matvec {
namespace {

float half_at(const std::byte* data, std::size_t index) {
  std::uint16_t half = 0;
  std::memcpy(&half, data + index * sizeof half, sizeof half);
  return half_to_float(half);
}

float float_at(const std::byte* data, std::size_t index) {
  float value = 0.0F;
  std::memcpy(&value, data + index * sizeof value, sizeof value);
  return value;
}

template <class WeightAt>
void plain(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride,
           WeightAt weight_at) {
  for (std::size_t v = 0; v < a.n_vectors; ++v) {
    for (std::size_t row = 0; row < n_panels * kPanelRows; ++row) {
      const std::size_t start = row / kPanelRows * kPanelRows * a.n_in + row % kPanelRows;
      float sum = 0.0F;
      for (std::size_t c = 0; c < a.n_in; ++c) {
        sum += weight_at(panels, start + c * kPanelRows) * a.x[v * a.n_in + c];
      }
      y[v * y_stride + row] = sum;
    }
  }
}

/// quant_at(quants of the block, row, column) is the weight without its scale, exact.
template <class QuantAt>
void blocks(const std::byte* panels, std::size_t block_bytes, std::size_t n_panels, const Activations& a, float* y,
            std::size_t y_stride, QuantAt quant_at) {
  const std::size_t n_blocks = a.n_in / kBlock;
  for (std::size_t v = 0; v < a.n_vectors; ++v) {
    for (std::size_t row = 0; row < n_panels * kPanelRows; ++row) {
      const std::size_t r = row % kPanelRows;
      float sum = 0.0F;
      for (std::size_t b = 0; b < n_blocks; ++b) {
        const std::byte* block = panels + (row / kPanelRows * n_blocks + b) * block_bytes;
        const std::byte* quants = block + kPanelRows * 2;
        const std::int16_t* q = a.q + v * a.n_in + b * kBlock;
        std::int32_t block_sum = 0;
        for (std::size_t c = 0; c < kBlock; ++c) block_sum += quant_at(quants, r, c) * q[c];
        sum += half_at(block, r) * a.scale[v * n_blocks + b] * static_cast<float>(block_sum);
      }
      y[v * y_stride + row] = sum;
    }
  }
}

}  // namespace

void f32_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  plain(panels, n_panels, a, y, y_stride, float_at);
}

void f16_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  plain(panels, n_panels, a, y, y_stride, half_at);
}

void q8_0_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  blocks(panels, row_bytes(WeightType::q8_0, kBlock) * kPanelRows, n_panels, a, y, y_stride,
         [](const std::byte* quants, std::size_t r, std::size_t c) {
           return static_cast<std::int32_t>(static_cast<std::int8_t>(quants[(c / 4 * kPanelRows + r) * 4 + c % 4]));
         });
}

void q4_0_scalar(const std::byte* panels, std::size_t n_panels, const Activations& a, float* y, std::size_t y_stride) {
  blocks(panels, row_bytes(WeightType::q4_0, kBlock) * kPanelRows, n_panels, a, y, y_stride,
         [](const std::byte* quants, std::size_t r, std::size_t c) {
           const auto byte = static_cast<std::uint8_t>(quants[(c / 8 * kPanelRows + r) * 4 + c % 4]);
           return static_cast<std::int32_t>(c % 8 < 4 ? byte & 0x0FU : byte >> 4U) - 8;
         });
}

}  // namespace kazeia::panel_matvec
