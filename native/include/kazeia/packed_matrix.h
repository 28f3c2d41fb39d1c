// Weights laid out for the kernels: panels of 8 rows, packed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace kazeia {

enum class WeightType : std::uint8_t { f32, f16, q8_0, q4_0 };

inline constexpr std::size_t kPanelRows = 8;
inline constexpr std::size_t kBlock = 32;  // values under one scale, as in GGUF's q8_0 and q4_0

/// A matrix as it lies in a GGUF file: row-major, rows x cols. Not owned.
struct MatrixView {
  const std::byte* data = nullptr;
  std::size_t n_bytes = 0;
  WeightType type = WeightType::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// Name as in GGUF files, lower case: "f32", "f16", "q8_0", "q4_0".
const char* weight_type_name(WeightType type);
/// Throws std::invalid_argument on another name.
WeightType weight_type(const std::string& name);
/// Bytes of `cols` values of one row, in a file and packed alike; cols is a multiple of 32.
std::size_t row_bytes(WeightType type, std::size_t cols);
/// One row of a view as float32; `out` has room for view.cols.
void dequantize_row(const MatrixView& view, std::size_t row, float* out);

/// Immutable, shareable between threads. One panel holds 8 rows; with B = cols / 32:
///   f32   [cols][8] float32
///   f16   [cols][8] binary16
///   q8_0  [B] of: [8] binary16 scales, [8 groups of 4 columns][8 rows][4] int8
///   q4_0  [B] of: [8] binary16 scales, [4 pairs of groups][8 rows][4] bytes: the low nibble belongs to the
///         pair's first group, the high one to its second; a nibble means its value - 8
/// Scales stand with their block: a stream of their own would be too thin for the processor to fetch ahead,
/// and made reading from memory 2.5 times slower.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// Throws std::invalid_argument when rows are no multiple of 8, cols none of 32, or n_bytes is not theirs.
  explicit PackedMatrix(const MatrixView& view);

  [[nodiscard]] WeightType type() const { return type_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t n_panels() const { return rows_ / kPanelRows; }
  [[nodiscard]] std::size_t n_bytes() const { return n_panels() * panel_bytes_; }
  [[nodiscard]] const std::byte* panel(std::size_t index) const { return data_.get() + index * panel_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  WeightType type_ = WeightType::f32;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t panel_bytes_ = 0;
  std::unique_ptr<std::byte[], Free> data_;  // aligned to a cache line
};

}  // namespace kazeia
