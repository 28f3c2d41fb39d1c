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

/// Of PackedMatrix's panels, which files keep: another layout takes another number.
inline constexpr std::uint32_t kPackedLayout = 1;
inline constexpr std::size_t kPackedAlignment = 64;  // of a packed matrix's first byte: a cache line

/// A matrix as it lies in a GGUF file: row-major, rows x cols. Not owned, unless `owner` is set.
struct MatrixView {
  const std::byte* data = nullptr;
  std::size_t n_bytes = 0;
  WeightType type = WeightType::f32;
  std::size_t rows = 0;
  std::size_t cols = 0;
  bool packed = false;                          // panels as PackedMatrix has them, not rows
  std::shared_ptr<const void> owner = nullptr;  // keeps the memory; packed views have one
};

/// Name as in GGUF files, lower case: "f32", "f16", "q8_0", "q4_0".
const char* weight_type_name(WeightType type);
/// Throws std::invalid_argument on another name.
WeightType weight_type(const std::string& name);
/// Bytes of `cols` values of one row, in a file and packed alike; cols is a multiple of 32.
std::size_t row_bytes(WeightType type, std::size_t cols);
/// One row of a view as float32; `out` has room for view.cols. Throws std::invalid_argument on a packed view.
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
  /// Packs rows; a packed view's memory is used as it is, and kept by its owner.
  /// Throws std::invalid_argument when rows are no multiple of 8, cols none of 32, n_bytes is not theirs, or a packed
  /// view is not aligned or has no owner.
  explicit PackedMatrix(const MatrixView& view);

  [[nodiscard]] WeightType type() const { return type_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t n_panels() const { return rows_ / kPanelRows; }
  [[nodiscard]] std::size_t n_bytes() const { return n_panels() * panel_bytes_; }
  [[nodiscard]] const std::byte* panel(std::size_t index) const { return data_.get() + index * panel_bytes_; }

 private:
  WeightType type_ = WeightType::f32;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::size_t panel_bytes_ = 0;
  std::shared_ptr<const std::byte> data_;
};

/// The panels of a view's rows, view.n_bytes of them. Throws std::invalid_argument as PackedMatrix does.
void pack(const MatrixView& view, std::byte* out);

/// Of whole memory, at the speed of reading it. Any change of one 8-byte word changes it; it is no defence against
/// intent. `seed` is the sum of what comes before.
std::uint64_t checksum(const std::byte* data, std::size_t n_bytes, std::uint64_t seed = 0);

}  // namespace kazeia
