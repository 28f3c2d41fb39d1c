#include "kazeia/packed_matrix.h"

#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "kazeia/half.h"

namespace kazeia {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kScaleBytes = 2;
constexpr std::size_t kQ8BlockBytes = kScaleBytes + kBlock;      // ggml's block_q8_0
constexpr std::size_t kQ4BlockBytes = kScaleBytes + kBlock / 2;  // ggml's block_q4_0: byte i holds values i and i + 16
constexpr std::size_t kGroup = 4;                                // columns that stay together in a quantised panel
constexpr std::size_t kMostColumns = std::numeric_limits<std::size_t>::max() / (sizeof(float) * kPanelRows);

std::uint8_t nibble(const std::byte* block, std::size_t column) {
  const auto byte = static_cast<std::uint8_t>(block[kScaleBytes + column % (kBlock / 2)]);
  return column < kBlock / 2 ? byte & 0x0FU : byte >> 4U;
}

void pack_plain(const std::byte* rows, std::size_t row_stride, std::size_t cols, std::size_t size, std::byte* panel) {
  for (std::size_t column = 0; column < cols; ++column) {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      std::memcpy(panel + (column * kPanelRows + r) * size, rows + r * row_stride + column * size, size);
    }
  }
}

void pack_q8_0(const std::byte* rows, std::size_t row_stride, std::size_t cols, std::byte* panel) {
  constexpr std::size_t kGroups = kBlock / kGroup;
  for (std::size_t b = 0; b < cols / kBlock; ++b, panel += kPanelRows * kQ8BlockBytes) {
    std::byte* quants = panel + kPanelRows * kScaleBytes;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const std::byte* block = rows + r * row_stride + b * kQ8BlockBytes;
      std::memcpy(panel + r * kScaleBytes, block, kScaleBytes);
      for (std::size_t g = 0; g < kGroups; ++g) {
        std::memcpy(quants + (g * kPanelRows + r) * kGroup, block + kScaleBytes + g * kGroup, kGroup);
      }
    }
  }
}

void pack_q4_0(const std::byte* rows, std::size_t row_stride, std::size_t cols, std::byte* panel) {
  constexpr std::size_t kPairs = kBlock / (2 * kGroup);
  for (std::size_t b = 0; b < cols / kBlock; ++b, panel += kPanelRows * kQ4BlockBytes) {
    std::byte* quants = panel + kPanelRows * kScaleBytes;
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      const std::byte* block = rows + r * row_stride + b * kQ4BlockBytes;
      std::memcpy(panel + r * kScaleBytes, block, kScaleBytes);
      for (std::size_t p = 0; p < kPairs; ++p) {
        for (std::size_t i = 0; i < kGroup; ++i) {
          const unsigned low = nibble(block, 2 * p * kGroup + i);
          const unsigned high = nibble(block, (2 * p + 1) * kGroup + i);
          quants[(p * kPanelRows + r) * kGroup + i] = static_cast<std::byte>(low | (high << 4U));
        }
      }
    }
  }
}

}  // namespace

const char* weight_type_name(WeightType type) {
  switch (type) {
    case WeightType::f16:
      return "f16";
    case WeightType::q8_0:
      return "q8_0";
    case WeightType::q4_0:
      return "q4_0";
    default:
      return "f32";
  }
}

WeightType weight_type(const std::string& name) {
  for (WeightType type : {WeightType::f32, WeightType::f16, WeightType::q8_0, WeightType::q4_0}) {
    if (name == weight_type_name(type)) return type;
  }
  throw std::invalid_argument("no weight type is called " + name);
}

std::size_t row_bytes(WeightType type, std::size_t cols) {
  switch (type) {
    case WeightType::f16:
      return cols * 2;
    case WeightType::q8_0:
      return cols / kBlock * kQ8BlockBytes;
    case WeightType::q4_0:
      return cols / kBlock * kQ4BlockBytes;
    default:
      return cols * sizeof(float);
  }
}

void dequantize_row(const MatrixView& view, std::size_t row, float* out) {
  const std::byte* data = view.data + row * row_bytes(view.type, view.cols);
  if (view.type == WeightType::f32) {
    std::memcpy(out, data, view.cols * sizeof(float));
    return;
  }
  const auto half_at = [&](std::size_t byte) {
    std::uint16_t half = 0;
    std::memcpy(&half, data + byte, sizeof half);
    return half_to_float(half);
  };
  for (std::size_t i = 0; i < view.cols; ++i) {
    const std::size_t block = i / kBlock;
    const std::size_t column = i % kBlock;
    if (view.type == WeightType::f16) {
      out[i] = half_at(2 * i);
    } else if (view.type == WeightType::q8_0) {
      const std::size_t at = block * kQ8BlockBytes;
      out[i] = half_at(at) * static_cast<float>(static_cast<std::int8_t>(data[at + kScaleBytes + column]));
    } else {
      const std::size_t at = block * kQ4BlockBytes;
      out[i] = half_at(at) * static_cast<float>(static_cast<int>(nibble(data + at, column)) - 8);
    }
  }
}

void PackedMatrix::Free::operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{kCacheLine}); }

PackedMatrix::PackedMatrix(const MatrixView& view) : type_(view.type), rows_(view.rows), cols_(view.cols) {
  if (rows_ == 0 || cols_ == 0 || rows_ % kPanelRows != 0 || cols_ % kBlock != 0 || cols_ > kMostColumns) {
    throw std::invalid_argument("a matrix of " + std::to_string(rows_) + " x " + std::to_string(cols_) +
                                " cannot be packed: rows must be a multiple of 8, columns of 32");
  }
  const std::size_t row_stride = row_bytes(type_, cols_);
  if (view.n_bytes / row_stride != rows_ || view.n_bytes % row_stride != 0) {
    throw std::invalid_argument("a matrix of " + std::to_string(rows_) + " x " + std::to_string(cols_) + " " +
                                weight_type_name(type_) + " has " + std::to_string(view.n_bytes) + " bytes");
  }
  panel_bytes_ = row_stride * kPanelRows;
  data_.reset(static_cast<std::byte*>(::operator new[](n_bytes(), std::align_val_t{kCacheLine})));
  for (std::size_t p = 0; p < n_panels(); ++p) {
    const std::byte* rows = view.data + p * kPanelRows * row_stride;
    std::byte* out = data_.get() + p * panel_bytes_;
    switch (type_) {
      case WeightType::f32:
        pack_plain(rows, row_stride, cols_, sizeof(float), out);
        break;
      case WeightType::f16:
        pack_plain(rows, row_stride, cols_, sizeof(std::uint16_t), out);
        break;
      case WeightType::q8_0:
        pack_q8_0(rows, row_stride, cols_, out);
        break;
      case WeightType::q4_0:
        pack_q4_0(rows, row_stride, cols_, out);
        break;
    }
  }
}

}  // namespace kazeia
