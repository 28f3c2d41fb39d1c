#include "kazeia/packed_matrix.h"

#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "kazeia/half.h"

namespace kazeia {
namespace {

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

void check(const MatrixView& view) {
  const std::string size = std::to_string(view.rows) + " x " + std::to_string(view.cols);
  if (view.rows == 0 || view.cols == 0 || view.rows % kPanelRows != 0 || view.cols % kBlock != 0 ||
      view.cols > kMostColumns) {
    throw std::invalid_argument("a matrix of " + size +
                                " cannot be packed: rows must be a multiple of 8, columns of 32");
  }
  const std::size_t row_stride = row_bytes(view.type, view.cols);
  if (view.n_bytes / row_stride != view.rows || view.n_bytes % row_stride != 0) {
    throw std::invalid_argument("a matrix of " + size + " " + weight_type_name(view.type) + " has " +
                                std::to_string(view.n_bytes) + " bytes");
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
  if (view.packed) throw std::invalid_argument("a packed matrix has no rows");
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

PackedMatrix::PackedMatrix(const MatrixView& view) : type_(view.type), rows_(view.rows), cols_(view.cols) {
  check(view);
  panel_bytes_ = row_bytes(type_, cols_) * kPanelRows;
  if (view.packed) {
    if (view.owner == nullptr || reinterpret_cast<std::uintptr_t>(view.data) % kPackedAlignment != 0) {
      throw std::invalid_argument("a packed matrix is not aligned or not owned");
    }
    data_ = {view.owner, view.data};
    return;
  }
  constexpr std::align_val_t kAlignment{kPackedAlignment};
  std::shared_ptr<std::byte> panels(static_cast<std::byte*>(::operator new[](n_bytes(), kAlignment)),
                                    [](std::byte* data) { ::operator delete[](data, kAlignment); });
  pack(view, panels.get());
  data_ = std::move(panels);
}

void pack(const MatrixView& view, std::byte* out) {
  check(view);
  if (view.packed) throw std::invalid_argument("a matrix is packed already");
  const std::size_t row_stride = row_bytes(view.type, view.cols);
  const std::size_t panel_bytes = row_stride * kPanelRows;
  for (std::size_t p = 0; p < view.rows / kPanelRows; ++p, out += panel_bytes) {
    const std::byte* rows = view.data + p * panel_bytes;
    switch (view.type) {
      case WeightType::f32:
        pack_plain(rows, row_stride, view.cols, sizeof(float), out);
        break;
      case WeightType::f16:
        pack_plain(rows, row_stride, view.cols, sizeof(std::uint16_t), out);
        break;
      case WeightType::q8_0:
        pack_q8_0(rows, row_stride, view.cols, out);
        break;
      case WeightType::q4_0:
        pack_q4_0(rows, row_stride, view.cols, out);
        break;
    }
  }
}

std::uint64_t checksum(const std::byte* data, std::size_t n_bytes, std::uint64_t seed) {
  // Eight sums side by side: one would wait for its own multiplications. Each step can be undone, so none hides a
  // change; turning the words brings what changed at their top to where multiplication spreads it.
  constexpr std::size_t kLanes = 8;
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  const auto step = [](std::uint64_t sum, std::uint64_t word) {
    const std::uint64_t mixed = (sum ^ word) * kOdd;
    return mixed << 29U | mixed >> 35U;
  };
  std::uint64_t lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = step(seed, lane);
  constexpr std::size_t kLine = kLanes * sizeof(std::uint64_t);
  std::size_t at = 0;
  for (; n_bytes - at >= kLine; at += kLine) {
    std::uint64_t words[kLanes];
    std::memcpy(words, data + at, kLine);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = step(lanes[lane], words[lane]);
  }
  std::uint64_t last[kLanes] = {};
  if (at != n_bytes) std::memcpy(last, data + at, n_bytes - at);
  std::uint64_t sum = step(seed, n_bytes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum = step(step(sum, lanes[lane]), last[lane]);
  return sum;
}

}  // namespace kazeia
