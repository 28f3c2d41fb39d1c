#include "panel_matvec/panel_matvec.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "each_isa.h"
#include "vector_ops/vector_ops.h"

namespace {

using kazeia::Isa;
using kazeia::kBlock;
using kazeia::kPanelRows;
using kazeia::MatrixView;
using kazeia::PackedMatrix;
using kazeia::WeightType;
using kazeia::panel_matvec::Activations;
using kazeia::panel_matvec::function;
using kazeia::panel_matvec::kMaxVectors;
using kazeia_test::Random;
using kazeia_test::same;
using kazeia_test::Values;

constexpr WeightType kTypes[] = {WeightType::f32, WeightType::f16, WeightType::q8_0, WeightType::q4_0};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::uint16_t kHalfOne = 0x3C00;
constexpr std::uint16_t kHalfInf = 0x7C00;
constexpr std::uint16_t kHalfNan = 0x7E00;
constexpr std::uint16_t kHalfLargest = 0x7BFF;  // 65504
constexpr std::uint16_t kHalfTiniest = 0x0001;  // 2^-24, a denormal

bool quantised(WeightType type) { return type == WeightType::q8_0 || type == WeightType::q4_0; }

/// A matrix as a file holds it.
struct File {
  File(WeightType of, std::size_t n_rows, std::size_t n_cols)
      : type(of), rows(n_rows), cols(n_cols), bytes(n_rows * kazeia::row_bytes(of, n_cols)) {}

  [[nodiscard]] MatrixView view() const { return {bytes.data(), bytes.size(), type, rows, cols}; }
  [[nodiscard]] std::size_t block_bytes() const { return kazeia::row_bytes(type, kBlock); }
  std::byte* at(std::size_t row, std::size_t block) {
    return bytes.data() + row * kazeia::row_bytes(type, cols) + block * block_bytes();
  }
  /// The scale of a block, or all 32 values of one that has none, as binary16.
  void set_half(std::size_t row, std::size_t block, std::uint16_t half) {
    std::memcpy(at(row, block), &half, sizeof half);
  }
  void set_float(std::size_t row, std::size_t col, float value) {
    std::memcpy(at(row, 0) + col * sizeof value, &value, sizeof value);
  }
  void set_half_value(std::size_t row, std::size_t col, std::uint16_t half) {
    std::memcpy(at(row, 0) + col * sizeof half, &half, sizeof half);
  }

  WeightType type;
  std::size_t rows;
  std::size_t cols;
  std::vector<std::byte> bytes;
};

/// Weights below 2 in magnitude; blocks of quantised ones use all of their codes.
File random_file(WeightType type, std::size_t rows, std::size_t cols, std::uint32_t seed) {
  File file(type, rows, cols);
  Random random(seed);
  // 2^-10 to 2^0 for halves; scales from 2^-14 to 2^-8.
  const auto half = [&](std::uint32_t lowest, std::uint32_t n_exponents) {
    const std::uint32_t bits = random.bits();
    return static_cast<std::uint16_t>((bits & 0x83FFU) | ((lowest + (bits >> 16U) % n_exponents) << 10U));
  };
  if (type == WeightType::f32) {
    for (std::size_t i = 0; i < rows * cols; ++i) file.set_float(0, i, random.value());
  } else if (type == WeightType::f16) {
    for (std::size_t i = 0; i < rows * cols; ++i) file.set_half_value(0, i, half(5, 11));
  } else {
    for (auto& byte : file.bytes) byte = static_cast<std::byte>(random.bits() >> 11U);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t b = 0; b < cols / kBlock; ++b) file.set_half(r, b, half(1, 7));
    }
  }
  return file;
}

/// Activations of either kind, each in memory of its own.
struct Input {
  Input(const std::vector<float>& values, std::size_t cols, std::size_t offset = 0)
      : n_in(cols),
        x(values, offset),
        q(values.size(), offset),
        scale(values.size() / kBlock, offset),
        sum(values.size() / kBlock, offset) {
    kazeia::vector_ops::kScalar.quantize(x.data(), x.size(), q.data(), scale.data(), sum.data());
  }

  /// n_vectors of them, from the first-th.
  [[nodiscard]] Activations vectors(std::size_t first, std::size_t n_vectors) const {
    const std::size_t block = first * n_in / kBlock;
    return {n_vectors,         n_in, x.data() + first * n_in, q.data() + first * n_in, scale.data() + block,
            sum.data() + block};
  }
  /// What the kernel of this type multiplies with.
  [[nodiscard]] double value(WeightType type, std::size_t i) const {
    return quantised(type) ? static_cast<double>(q[i]) * scale[i / kBlock] : x[i];
  }

  std::size_t n_in;
  Values<float> x;
  Values<std::int16_t> q;
  Values<float> scale;
  Values<std::int32_t> sum;
};

std::vector<float> multiply(Isa isa, const PackedMatrix& matrix, const Activations& a) {
  std::vector<float> y(a.n_vectors * matrix.rows());
  function(matrix.type(), isa)(matrix.panel(0), matrix.n_panels(), a, y.data(), matrix.rows());
  return y;
}

// Relative to the sum of magnitudes: float32 sums in another order. Sequential addition of 3072 terms may lose
// a few units of 2^-24 of it.
void compare_to_float64(Isa isa, const File& file, const Input& input, std::size_t n_vectors) {
  const PackedMatrix matrix(file.view());
  const std::vector<float> y = multiply(isa, matrix, input.vectors(0, n_vectors));
  const std::vector<float> want = multiply(Isa::scalar, matrix, input.vectors(0, n_vectors));
  std::vector<float> row(file.cols);
  double worst = 0.0;
  double worst_to_scalar = 0.0;
  for (std::size_t r = 0; r < file.rows; ++r) {
    kazeia::dequantize_row(file.view(), r, row.data());
    for (std::size_t v = 0; v < n_vectors; ++v) {
      double sum = 0.0;
      double magnitude = 0.0;
      for (std::size_t c = 0; c < file.cols; ++c) {
        const double term = row[c] * input.value(file.type, v * file.cols + c);
        sum += term;
        magnitude += std::abs(term);
      }
      const double got = y[v * file.rows + r];
      worst = std::max(worst, std::abs(got - sum) / magnitude);
      worst_to_scalar = std::max(worst_to_scalar, std::abs(got - want[v * file.rows + r]) / magnitude);
    }
  }
  CHECK(worst <= 5e-7);
  CHECK(worst_to_scalar <= 5e-7);
}

void test_sizes(Isa isa) {
  for (WeightType type : kTypes) {
    std::uint32_t seed = 1;
    for (std::size_t cols : {32, 64, 96, 1024, 3072}) {
      for (std::size_t rows : {8, 16, 40}) {
        const File file = random_file(type, rows, cols, seed++);
        const Input input(Random(seed).values(kMaxVectors * cols), cols);
        compare_to_float64(isa, file, input, kMaxVectors);
      }
    }
  }
}

// A row's result may depend neither on how many vectors nor on how many panels come with it, nor on alignment:
// codes must not change with the thread count.
void test_same_bits(Isa isa) {
  constexpr std::size_t kRows = 40;
  for (WeightType type : kTypes) {
    for (std::size_t cols : {32, 96, 1024}) {
      const PackedMatrix matrix(random_file(type, kRows, cols, 7).view());
      const std::vector<float> values = Random(8).values(kMaxVectors * cols, 3.0F);
      const Input input(values, cols);
      std::vector<float> single;
      for (std::size_t v = 0; v < kMaxVectors; ++v) {
        const std::vector<float> one = multiply(isa, matrix, input.vectors(v, 1));
        single.insert(single.end(), one.begin(), one.end());
      }
      for (std::size_t n = 1; n <= kMaxVectors; ++n) {
        CHECK(same(multiply(isa, matrix, input.vectors(0, n)).data(), single.data(), n * kRows));
      }
      for (std::size_t offset = 1; offset < 4; ++offset) {
        const Input moved(values, cols, offset);
        CHECK(same(multiply(isa, matrix, moved.vectors(0, kMaxVectors)).data(), single.data(), kMaxVectors * kRows));
      }
      // In two calls, into rows of a wider result that begins at an odd address.
      constexpr std::size_t kStride = kRows + 3;
      constexpr float kUntouched = 12345.0F;
      for (std::size_t cut = 0; cut <= matrix.n_panels(); ++cut) {
        Values<float> y(3 * kStride, 1);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = kUntouched;
        const auto run = function(type, isa);
        run(matrix.panel(0), cut, input.vectors(0, 3), y.data(), kStride);
        run(matrix.panel(cut), matrix.n_panels() - cut, input.vectors(0, 3), y.data() + cut * kPanelRows, kStride);
        bool equal = true;
        for (std::size_t v = 0; v < 3; ++v) {
          equal = equal && same(y.data() + v * kStride, single.data() + v * kRows, kRows);
          for (std::size_t i = kRows; i < kStride; ++i) equal = equal && y[v * kStride + i] == kUntouched;
        }
        CHECK(equal);
      }
    }
  }
}

// inf and NaN reach the results of their row or vector, and no other.
void test_not_finite(Isa isa) {
  constexpr std::size_t kRows = 16;
  constexpr std::size_t kCols = 96;
  for (WeightType type : kTypes) {
    const File file = random_file(type, kRows, kCols, 3);
    const PackedMatrix matrix(file.view());
    const std::vector<float> values = Random(4).values(2 * kCols);
    const std::vector<float> usual = multiply(isa, matrix, Input(values, kCols).vectors(0, 2));
    for (std::size_t at : {std::size_t{0}, std::size_t{37}, kCols - 1}) {
      for (float odd : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> changed = values;
        changed[kCols + at] = odd;
        const std::vector<float> y = multiply(isa, matrix, Input(changed, kCols).vectors(0, 2));
        CHECK(same(y.data(), usual.data(), kRows));
        bool none = true;
        for (std::size_t r = 0; r < kRows; ++r) none = none && !std::isfinite(y[kRows + r]);
        CHECK(none);
      }
    }
    for (std::uint16_t odd : {kHalfInf, kHalfNan}) {
      File changed = file;
      if (type == WeightType::f32) {
        changed.set_float(11, 50, odd == kHalfInf ? kInf : std::numeric_limits<float>::quiet_NaN());
      } else if (type == WeightType::f16) {
        changed.set_half_value(11, 50, odd);
      } else {
        changed.set_half(11, 1, odd);
      }
      const std::vector<float> y = multiply(isa, PackedMatrix(changed.view()), Input(values, kCols).vectors(0, 2));
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(i % kRows == 11 ? !std::isfinite(y[i]) : same(y[i], usual[i]));
    }
  }
}

void test_zeros(Isa isa) {
  for (WeightType type : kTypes) {
    File file(type, 8, 64);
    const std::vector<float> values = Random(5).values(64);
    if (type == WeightType::q4_0) {
      for (auto& byte : file.bytes) byte = static_cast<std::byte>(0x88);  // nibbles of 8 are zeros
    }
    const std::vector<float> zeros(8, 0.0F);
    CHECK(multiply(isa, PackedMatrix(file.view()), Input(values, 64).vectors(0, 1)) == zeros);
    const PackedMatrix matrix(random_file(type, 8, 64, 6).view());
    CHECK(multiply(isa, matrix, Input(std::vector<float>(64, 0.0F), 64).vectors(0, 1)) == zeros);
    // A block of zeros beside another: only the other counts.
    std::vector<float> half = values;
    for (std::size_t i = 32; i < 64; ++i) half[i] = 0.0F;
    const File wide = random_file(type, 8, 64, 6);
    File narrow(type, 8, 32);
    for (std::size_t r = 0; r < 8; ++r) std::memcpy(narrow.at(r, 0), File(wide).at(r, 0), narrow.block_bytes());
    half.resize(64);
    const std::vector<float> y = multiply(isa, PackedMatrix(wide.view()), Input(half, 64).vectors(0, 1));
    half.resize(32);
    CHECK(y == multiply(isa, PackedMatrix(narrow.view()), Input(half, 32).vectors(0, 1)));
  }
}

// One block: no sum of several, so every instruction set gives the same figure, the float32 nearest to the
// product of the two scales and the exact integer.
void test_extremes(Isa isa) {
  for (std::uint16_t w_scale : {kHalfOne, kHalfLargest, kHalfTiniest}) {
    for (float x : {1.0F, -1.0F, 1.5e5F, 1e-28F, 1e33F, 3.4e38F}) {
      for (std::uint32_t code : {0x80U, 0x7FU, 0xFFU, 0x00U, 0x0FU}) {
        for (WeightType type : {WeightType::q8_0, WeightType::q4_0}) {
          File file(type, 8, 32);
          for (auto& byte : file.bytes) byte = static_cast<std::byte>(code);
          for (std::size_t r = 0; r < 8; ++r) file.set_half(r, 0, w_scale);
          const Input input(std::vector<float>(32, x), 32);
          const std::vector<float> y = multiply(isa, PackedMatrix(file.view()), input.vectors(0, 1));
          const int even = type == WeightType::q8_0 ? static_cast<std::int8_t>(code) : static_cast<int>(code & 15U) - 8;
          const int odd = type == WeightType::q8_0 ? even : static_cast<int>(code >> 4U) - 8;
          const float w = w_scale == kHalfOne ? 1.0F : w_scale == kHalfLargest ? 65504.0F : 0x1p-24F;
          const float want = w * input.scale[0] * static_cast<float>(16 * input.q[0] * (even + odd));
          for (float got : y) CHECK(same(got, want));  // NaN where the scales overflow and the sum is 0
        }
      }
    }
  }
  // Denormal weights and activations are values like others.
  constexpr std::size_t kValues = 256;
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  File tiny(WeightType::f32, 8, 32);
  for (std::size_t i = 0; i < kValues; ++i) tiny.set_float(0, i, kDenormal);
  for (float y : multiply(isa, PackedMatrix(tiny.view()), Input(std::vector<float>(32, 1.0F), 32).vectors(0, 1))) {
    CHECK(y == 32 * kDenormal);
  }
  for (std::size_t i = 0; i < kValues; ++i) tiny.set_float(0, i, 1.0F);
  for (float y : multiply(isa, PackedMatrix(tiny.view()), Input(std::vector<float>(32, kDenormal), 32).vectors(0, 1))) {
    CHECK(y == 32 * kDenormal);
  }
  File halves(WeightType::f16, 8, 32);
  for (std::size_t i = 0; i < kValues; ++i) halves.set_half_value(0, i, kHalfTiniest);
  for (float y : multiply(isa, PackedMatrix(halves.view()), Input(std::vector<float>(32, 2.0F), 32).vectors(0, 1))) {
    CHECK(y == 0x1p-18F);
  }
}

// What the header promises of 16-bit activations: half a unit of 1/32512 of the block's largest value each.
void test_rounding_error(Isa isa) {
  constexpr std::size_t kCols = 1024;
  for (WeightType type : {WeightType::q8_0, WeightType::q4_0}) {
    const File file = random_file(type, 8, kCols, 9);
    const std::vector<float> x = Random(10).values(kCols, 1.5e5F);
    Input input(x, kCols);
    kazeia::vector_ops::table(isa).quantize(x.data(), kCols, input.q.data(), input.scale.data(), input.sum.data());
    const std::vector<float> y = multiply(isa, PackedMatrix(file.view()), input.vectors(0, 1));
    std::vector<float> row(kCols);
    for (std::size_t r = 0; r < 8; ++r) {
      kazeia::dequantize_row(file.view(), r, row.data());
      double sum = 0.0;
      double allowed = 0.0;
      for (std::size_t c = 0; c < kCols; ++c) {
        sum += static_cast<double>(row[c]) * x[c];
        allowed += std::abs(row[c]) * (0.51 * input.scale[c / kBlock] + 5e-7 * std::abs(x[c]));
      }
      CHECK(std::abs(y[r] - sum) <= allowed);
    }
  }
}

// Exact sums, and the same operations on them: a processor that runs both gets one voice.
void test_relatives(Isa isa) {
  if (isa != Isa::avx512 && isa != Isa::neon_dotprod && isa != Isa::neon_i8mm) return;
  const Isa base = isa == Isa::avx512 ? Isa::avx2 : Isa::neon;
  constexpr std::size_t kCols = 1024;
  for (WeightType type : kTypes) {
    for (std::size_t n_rows : {8, 24, 64}) {
      const PackedMatrix matrix(random_file(type, n_rows, kCols, 11).view());
      const Input input(Random(12).values(kMaxVectors * kCols), kCols);
      for (std::size_t n = 1; n <= kMaxVectors; ++n) {
        const std::vector<float> y = multiply(isa, matrix, input.vectors(0, n));
        CHECK(same(y.data(), multiply(base, matrix, input.vectors(0, n)).data(), y.size()));
      }
    }
  }
}

}  // namespace

int main() {
  kazeia_test::each_isa([](Isa isa) {
    test_sizes(isa);
    test_same_bits(isa);
    test_not_finite(isa);
    test_zeros(isa);
    test_extremes(isa);
    test_rounding_error(isa);
    test_relatives(isa);
  });
  return kazeia_test::summary();
}
