#include "kazeia/packed_matrix.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "each_isa.h"
#include "kazeia/half.h"

namespace {

using kazeia::MatrixView;
using kazeia::PackedMatrix;
using kazeia::WeightType;

constexpr WeightType kTypes[] = {WeightType::f32, WeightType::f16, WeightType::q8_0, WeightType::q4_0};

/// By arithmetic, where half_to_float works on bits.
double half_value(std::uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((half >> 10U) & 0x1FU);
  const auto mantissa = static_cast<int>(half & 0x3FFU);
  if (exponent == 0x1F) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

void test_half() {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double want = half_value(bits);
    const float got = kazeia::half_to_float(half);
    const bool equal = std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
    wrong += equal ? 0 : 1;
  }
  CHECK(wrong == 0);
}

void test_names() {
  for (WeightType type : kTypes) CHECK(kazeia::weight_type(kazeia::weight_type_name(type)) == type);
  std::string says;
  try {
    kazeia::weight_type("Q8_0");
  } catch (const std::invalid_argument& error) {
    says = error.what();
  }
  CHECK(says.find("Q8_0") != std::string::npos);
  CHECK(kazeia::row_bytes(WeightType::f32, 64) == 256 && kazeia::row_bytes(WeightType::f16, 64) == 128);
  CHECK(kazeia::row_bytes(WeightType::q8_0, 64) == 68 && kazeia::row_bytes(WeightType::q4_0, 64) == 36);
}

/// One block of each, written out as ggml's formats define it.
void test_dequantised_values() {
  std::vector<std::byte> q8(34);
  const std::uint16_t scale = 0x3800;  // 0.5
  std::memcpy(q8.data(), &scale, sizeof scale);
  for (int i = 0; i < 32; ++i) q8[2 + static_cast<std::size_t>(i)] = static_cast<std::byte>(i * 8 - 128);
  float out[32];
  kazeia::dequantize_row({q8.data(), q8.size(), WeightType::q8_0, 1, 32}, 0, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == 0.5F * static_cast<float>(i * 8 - 128));

  std::vector<std::byte> q4(18);
  std::memcpy(q4.data(), &scale, sizeof scale);
  // Byte i holds values i (low) and i + 16 (high).
  for (std::size_t i = 0; i < 16; ++i) q4[2 + i] = static_cast<std::byte>(i | ((15 - i) << 4U));
  kazeia::dequantize_row({q4.data(), q4.size(), WeightType::q4_0, 1, 32}, 0, out);
  for (int i = 0; i < 16; ++i) {
    CHECK(out[i] == 0.5F * static_cast<float>(i - 8));
    CHECK(out[i + 16] == 0.5F * static_cast<float>(7 - i));
  }
}

std::uint8_t byte_at(const std::byte* data, std::size_t i) { return static_cast<std::uint8_t>(data[i]); }

/// A weight, read from a panel by the header's words.
float weight(const PackedMatrix& matrix, std::size_t row, std::size_t col) {
  const std::byte* panel = matrix.panel(row / 8);
  const std::size_t r = row % 8;
  const auto half = [&](std::size_t index) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, panel + 2 * index, sizeof bits);
    return kazeia::half_to_float(bits);
  };
  const std::size_t block = col / 32;
  const std::size_t in_block = col % 32;
  switch (matrix.type()) {
    case WeightType::f32: {
      float value = 0.0F;
      std::memcpy(&value, panel + (col * 8 + r) * 4, sizeof value);
      return value;
    }
    case WeightType::f16:
      return half(col * 8 + r);
    case WeightType::q8_0: {
      const std::size_t start = block * 8 * 34;
      const std::size_t at = start + 16 + (in_block / 4 * 8 + r) * 4 + in_block % 4;
      return half(start / 2 + r) * static_cast<float>(static_cast<std::int8_t>(byte_at(panel, at)));
    }
    default: {
      const std::size_t start = block * 8 * 18;
      const std::size_t at = start + 16 + (in_block / 8 * 8 + r) * 4 + in_block % 4;
      const unsigned both = byte_at(panel, at);
      const unsigned code = in_block % 8 < 4 ? both & 15U : both >> 4U;
      return half(start / 2 + r) * (static_cast<float>(code) - 8.0F);
    }
  }
}

/// Any bytes, inf and NaN among them, from an odd address: the file's rows and the panels mean the same.
void test_packing() {
  kazeia_test::Random random(1);
  for (WeightType type : kTypes) {
    for (std::size_t cols : {32, 64, 160}) {
      for (std::size_t rows : {8, 24}) {
        const std::size_t n_bytes = rows * kazeia::row_bytes(type, cols);
        kazeia_test::Values<std::byte> bytes(n_bytes, 1);
        for (std::size_t i = 0; i < n_bytes; ++i) bytes[i] = static_cast<std::byte>(random.bits() >> 13U);
        const MatrixView view{bytes.data(), n_bytes, type, rows, cols};
        const PackedMatrix packed(view);
        CHECK(packed.type() == type && packed.rows() == rows && packed.cols() == cols);
        CHECK(packed.n_panels() == rows / 8 && packed.n_bytes() == n_bytes);
        CHECK(reinterpret_cast<std::uintptr_t>(packed.panel(0)) % 64 == 0);
        std::vector<float> row(cols);
        bool equal = true;
        for (std::size_t r = 0; r < rows; ++r) {
          kazeia::dequantize_row(view, r, row.data());
          for (std::size_t c = 0; c < cols; ++c) equal = equal && kazeia_test::same(row[c], weight(packed, r, c));
        }
        CHECK(equal);
      }
    }
  }
}

bool refused(WeightType type, std::size_t rows, std::size_t cols, std::size_t n_bytes) {
  static const std::vector<std::byte> bytes(65536);
  try {
    const PackedMatrix packed(MatrixView{bytes.data(), n_bytes, type, rows, cols});
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).find(std::to_string(rows)) != std::string::npos);
    return true;
  }
  return false;
}

void test_refused() {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 32 * 32 - 992;
  for (WeightType type : kTypes) {
    const std::size_t row = kazeia::row_bytes(type, 64);
    CHECK(!refused(type, 8, 64, 8 * row));
    for (std::size_t rows : {0, 1, 7, 9, 12}) CHECK(refused(type, rows, 64, rows * row));
    for (std::size_t cols : {0, 1, 31, 33, 48}) CHECK(refused(type, 8, cols, 8 * kazeia::row_bytes(type, cols)));
    for (std::size_t n_bytes : {std::size_t{0}, row, 8 * row - 1, 8 * row + 1, 9 * row}) {
      CHECK(refused(type, 8, 64, n_bytes));
    }
    // Sizes whose product does not fit: 2^62 columns of four bytes have "no" bytes.
    for (std::size_t large : {kHuge, std::size_t{1} << 62U, std::size_t{1} << 63U}) {
      CHECK(refused(type, 8, large, 0));
      CHECK(refused(type, large, 64, 0));
      CHECK(refused(type, large, large, 0));
    }
  }
}

/// What was packed before, as from a file: the same panels, in place, and kept as long as a matrix needs them.
void test_packed_before() {
  kazeia_test::Random random(2);
  for (WeightType type : kTypes) {
    constexpr std::size_t kRows = 16;
    constexpr std::size_t kCols = 96;
    const std::size_t n_bytes = kRows * kazeia::row_bytes(type, kCols);
    std::vector<std::byte> bytes(n_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits() >> 13U);
    const PackedMatrix own(MatrixView{bytes.data(), n_bytes, type, kRows, kCols});
    struct alignas(kazeia::kPackedAlignment) Line {
      std::byte bytes[kazeia::kPackedAlignment];
    };
    auto lines = std::make_shared<std::vector<Line>>(n_bytes / sizeof(Line) + 2);
    std::byte* memory = lines->data()->bytes;
    kazeia::pack(MatrixView{bytes.data(), n_bytes, type, kRows, kCols}, memory);
    const std::weak_ptr<std::vector<Line>> watched = lines;
    MatrixView view{memory, n_bytes, type, kRows, kCols, true, lines};
    {
      const PackedMatrix packed(view);
      view.owner = nullptr;
      lines = nullptr;
      CHECK(packed.panel(0) == memory && packed.n_bytes() == own.n_bytes());
      CHECK(!watched.expired() && std::memcmp(packed.panel(0), own.panel(0), n_bytes) == 0);
    }
    CHECK(watched.expired());

    const auto fails = [](const auto& call) {
      try {
        call();
      } catch (const std::invalid_argument&) {
        return true;
      }
      return false;
    };
    lines = std::make_shared<std::vector<Line>>(n_bytes / sizeof(Line) + 2);
    memory = lines->data()->bytes;
    const MatrixView good{memory, n_bytes, type, kRows, kCols, true, lines};
    CHECK(!fails([&] { const PackedMatrix matrix(good); }));
    CHECK(fails([&] { const PackedMatrix matrix({memory, n_bytes, type, kRows, kCols, true, nullptr}); }));
    CHECK(fails([&] { const PackedMatrix matrix({memory + 8, n_bytes, type, kRows, kCols, true, lines}); }));
    CHECK(fails([&] { const PackedMatrix matrix({memory, n_bytes - 1, type, kRows, kCols, true, lines}); }));
    CHECK(fails([&] { kazeia::pack(good, memory); }));
    std::vector<float> row(kCols);
    CHECK(fails([&] { kazeia::dequantize_row(good, 0, row.data()); }));
  }
}

/// Every bit counts, wherever it is, and so does the number of bytes.
void test_checksum() {
  std::vector<std::byte> bytes(200, std::byte{7});
  for (std::size_t size : {0, 1, 8, 63, 64, 65, 128, 200}) {
    const std::uint64_t sum = kazeia::checksum(bytes.data(), size);
    CHECK(sum == kazeia::checksum(bytes.data(), size));
    CHECK(sum != kazeia::checksum(bytes.data(), size, 1));
    CHECK(size == 0 || sum != kazeia::checksum(bytes.data(), size - 1));
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      CHECK(sum != kazeia::checksum(bytes.data(), size));
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
  // Two words that change places, in one lane or in two.
  bytes[0] = std::byte{1};
  const std::uint64_t sum = kazeia::checksum(bytes.data(), bytes.size());
  for (std::size_t other : {8, 64, 192}) {
    std::swap(bytes[0], bytes[other]);
    CHECK(sum != kazeia::checksum(bytes.data(), bytes.size()));
    std::swap(bytes[0], bytes[other]);
  }
  // The top bit of two words under one lane.
  for (std::size_t i : {15, 79}) bytes[i] ^= std::byte{0x80};
  CHECK(sum != kazeia::checksum(bytes.data(), bytes.size()));
}

}  // namespace

int main() {
  test_half();
  test_names();
  test_dequantised_values();
  test_packing();
  test_refused();
  test_packed_before();
  test_checksum();
  return kazeia_test::summary();
}
