#include "vector_ops/vector_ops.h"

#include <cmath>
#include <limits>
#include <vector>

#include "each_isa.h"
#include "kazeia/half.h"

namespace {

using kazeia::Isa;
using kazeia::vector_ops::kLargestQuant;
using kazeia::vector_ops::kScalar;
using kazeia::vector_ops::Table;
using kazeia_test::Random;
using kazeia_test::same;
using kazeia_test::Values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr float kEps = 1e-6F;

/// 0, 1, W - 1, W, W + 1, 3W + 5 for the widths 4, 8, 16 and 32, and a head's and a layer's width.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all{0, 1, 128, 3072};
  for (std::size_t width : {4, 8, 16, 32}) {
    for (std::size_t n : {width - 1, width, width + 1, 3 * width + 5}) all.push_back(n);
  }
  return all;
}

bool near(double got, double want, double allowed) {
  return std::abs(got - want) <= allowed || (std::isnan(got) && std::isnan(want));
}

/// test(values, values, n) for every size, unaligned in different ways.
template <class Test>
void each_size(const Test& test) {
  for (std::size_t n : sizes()) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      Random random(static_cast<std::uint32_t>(n));
      const Values<float> a(random.values(n, 3.0F), offset);
      const Values<float> b(random.values(n), 3 - offset);
      test(a, b, n);
    }
  }
}

void test_dot(const Table& ops) {
  each_size([&](const Values<float>& a, const Values<float>& b, std::size_t n) {
    double want = 0.0;
    double magnitude = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      want += static_cast<double>(a[i]) * b[i];
      magnitude += std::abs(static_cast<double>(a[i]) * b[i]);
    }
    CHECK(near(ops.dot(a.data(), b.data(), n), want, 5e-7 * magnitude));
  });
  CHECK(ops.dot(nullptr, nullptr, 0) == 0.0F);
  for (std::size_t at : {0, 7, 19, 20, 22}) {
    Values<float> a(std::vector<float>(23, 1.0F), 1);
    const Values<float> ones(std::vector<float>(23, 1.0F), 2);
    a[at] = kNan;
    CHECK(std::isnan(ops.dot(a.data(), ones.data(), 23)));
    a[at] = -kInf;
    CHECK(ops.dot(a.data(), ones.data(), 23) == -kInf);
  }
  const std::vector<float> tiny(37, kDenormal);
  const std::vector<float> ones(37, 1.0F);
  CHECK(ops.dot(tiny.data(), ones.data(), 37) == 37 * kDenormal);
}

void test_add_scaled(const Table& ops) {
  each_size([&](const Values<float>& x, const Values<float>& y, std::size_t n) {
    Values<float> got(y);
    ops.add_scaled(got.data(), 0.7F, x.data(), n);
    bool ok = true;
    // One rounding or two.
    for (std::size_t i = 0; i < n; ++i) {
      const double term = static_cast<double>(0.7F) * x[i];
      ok = ok && near(got[i], y[i] + term, 1.3e-7 * (std::abs(y[i]) + std::abs(term)));
    }
    CHECK(ok);
  });
  Values<float> y(std::vector<float>(13, 1.0F), 1);
  Values<float> x(std::vector<float>(13, 1.0F), 1);
  x[3] = kInf;
  x[12] = kNan;
  ops.add_scaled(y.data(), -1.0F, x.data(), 13);
  for (std::size_t i = 0; i < 13; ++i) {
    CHECK(i == 3 ? y[i] == -kInf : i == 12 ? std::isnan(y[i]) : y[i] == 0.0F);
  }
}

void test_rms_norm(const Table& ops) {
  each_size([&](const Values<float>& x, const Values<float>& weight, std::size_t n) {
    double squares = 0.0;
    for (std::size_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * x[i];
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(kEps));
    Values<float> out(n, 1);
    ops.rms_norm(x.data(), weight.data(), n, kEps, out.data());
    Values<float> in_place(x);
    ops.rms_norm(in_place.data(), weight.data(), n, kEps, in_place.data());
    bool ok = same(in_place.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double want = x[i] * scale * weight[i];
      ok = ok && near(out[i], want, 1e-6 * std::abs(want));
    }
    CHECK(ok);
  });
  const std::vector<float> ones(20, 1.0F);
  std::vector<float> out(20);
  ops.rms_norm(std::vector<float>(20, 0.0F).data(), ones.data(), 20, kEps, out.data());
  CHECK(out == std::vector<float>(20, 0.0F));
  ops.rms_norm(std::vector<float>(20, 1e-30F).data(), ones.data(), 20, kEps, out.data());
  for (float v : out) CHECK(near(v, 1e-27, 1e-33));
  // Activations of a feed-forward layer reach 1.5e5.
  ops.rms_norm(std::vector<float>(20, -1.5e5F).data(), ones.data(), 20, kEps, out.data());
  for (float v : out) CHECK(near(v, -1.0, 1e-6));
  for (float odd : {kInf, kNan}) {
    std::vector<float> x(20, 1.0F);
    x[17] = odd;
    ops.rms_norm(x.data(), ones.data(), 20, kEps, out.data());
    CHECK(std::isnan(out[17]));
    CHECK(odd == kInf ? out[3] == 0.0F : std::isnan(out[3]));
  }
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

void test_silu_mul(const Table& ops) {
  each_size([&](const Values<float>& gate, const Values<float>& up, std::size_t n) {
    Values<float> out(n, 3);
    ops.silu_mul(gate.data(), up.data(), n, out.data());
    Values<float> in_place(gate);
    ops.silu_mul(in_place.data(), up.data(), n, in_place.data());
    bool ok = same(in_place.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double want = silu(gate[i]) * up[i];
      ok = ok && near(out[i], want, 5e-7 * std::abs(want));
    }
    CHECK(ok);
  });
  // Its whole range; beyond e^88 an instruction set may stop growing, where the result is a denormal anyway.
  std::vector<float> gate;
  for (int eighths = -880; eighths <= 880; ++eighths) gate.push_back(static_cast<float>(eighths) / 8.0F);
  for (float g : {-1e4F, -kLargest, 1e4F, kLargest, kDenormal, -kDenormal, 0.0F}) gate.push_back(g);
  std::vector<float> out(gate.size());
  ops.silu_mul(gate.data(), std::vector<float>(gate.size(), 1.0F).data(), gate.size(), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double want = silu(gate[i]);
    // -kLargest / e^88 is the only one that is not as good as zero.
    const double allowed = gate[i] == -kLargest ? 2.0 : 5e-7 * std::abs(want) + 1e-34;
    CHECK(near(out[i], want, allowed));
  }
  const float odd[9] = {kInf, -kInf, kNan, 1.0F, 1.0F, kInf, -kInf, kNan, 0.0F};
  const float up[9] = {1.0F, 1.0F, 1.0F, kInf, kNan, -1.0F, 1.0F, 1.0F, kInf};
  float y[9];
  ops.silu_mul(odd, up, 9, y);
  CHECK(y[0] == kInf && y[3] == kInf && y[5] == -kInf);
  // -inf / inf: not a figure, so the caller sees that something is wrong.
  for (std::size_t i : {1, 2, 4, 6, 7, 8}) CHECK(!std::isfinite(y[i]));
}

void test_softmax(const Table& ops) {
  each_size([&](const Values<float>& x, const Values<float>&, std::size_t n) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[i]));
    Values<float> got(x);
    ops.softmax(got.data(), n);
    bool ok = true;
    for (std::size_t i = 0; i < n; ++i) {
      const double want = std::exp(static_cast<double>(x[i])) / sum;
      ok = ok && near(got[i], want, (1e-6 + 2e-9 * static_cast<double>(n)) * want);  // its sum is float32's
    }
    CHECK(ok);
  });
  // exp over its range: the share of x beside 0 is e^x of the largest one's.
  for (int sixteenths = -1600; sixteenths <= 0; ++sixteenths) {
    const float x = static_cast<float>(sixteenths) / 16.0F;
    float pair[2] = {x, 0.0F};
    ops.softmax(pair, 2);
    const double want = std::exp(static_cast<double>(x));
    const double got = static_cast<double>(pair[0]) / pair[1];
    CHECK(near(got, want, x < -87.0F ? 1.4e-38 : 5e-7 * want));
  }
  // Where all but one vanish, and where the values are too large for exp without the subtraction.
  std::vector<float> far{-kInf, 1000.0F, -1000.0F, -kLargest, 990.0F, -kInf, 0.0F, 0.0F, 0.0F, 0.0F, -kInf};
  ops.softmax(far.data(), far.size());
  CHECK(near(far[1], 1.0 / (1.0 + std::exp(-10.0)), 1e-6) && near(far[4], 1.0 / (1.0 + std::exp(10.0)), 1e-10));
  for (std::size_t i : {0, 2, 3, 5, 6, 10}) CHECK(far[i] == 0.0F);
  std::vector<float> equal(13, kLargest);
  ops.softmax(equal.data(), 13);
  for (float v : equal) CHECK(near(v, 1.0 / 13.0, 1e-8));
  for (float odd : {kNan, kInf}) {
    for (std::size_t at : {0, 9, 12}) {
      std::vector<float> x(13, 1.0F);
      x[at] = odd;
      ops.softmax(x.data(), 13);
      for (float v : x) CHECK(std::isnan(v));
    }
  }
  std::vector<float> none(13, -kInf);
  ops.softmax(none.data(), 13);
  for (float v : none) CHECK(std::isnan(v));
  ops.softmax(nullptr, 0);
}

struct Quantised {
  explicit Quantised(const Table& ops, const std::vector<float>& values, std::size_t offset = 0)
      : q(values.size(), offset), scale(values.size() / 32, offset), sum(values.size() / 32, offset) {
    const Values<float> x(values, offset);
    ops.quantize(x.data(), x.size(), q.data(), scale.data(), sum.data());
  }
  bool operator==(const Quantised& other) const {
    bool equal = same(scale.data(), other.scale.data(), scale.size());
    for (std::size_t i = 0; i < q.size(); ++i) equal = equal && q[i] == other.q[i];
    for (std::size_t b = 0; b < sum.size(); ++b) equal = equal && sum[b] == other.sum[b];
    return equal;
  }
  [[nodiscard]] bool sums_are_exact() const {
    for (std::size_t b = 0; b < sum.size(); ++b) {
      std::int32_t total = 0;
      for (std::size_t i = 0; i < 32; ++i) total += q[b * 32 + i];
      if (sum[b] != 8 * total) return false;
    }
    return true;
  }

  Values<std::int16_t> q;
  Values<float> scale;
  Values<std::int32_t> sum;
};

// Every instruction set gives the same integers and scales: nothing in it is a sum of float32.
void test_quantize(const Table& ops) {
  for (std::size_t n : {0, 32, 64, 96, 1024}) {
    for (float size : {1.0F, 1.5e5F, 1e-20F, 1e-29F, 1e-31F, 1e-38F, 1e-42F, 1e30F, 1e38F, 3.4e38F}) {
      for (std::size_t offset = 0; offset < 4; ++offset) {
        const std::vector<float> x = Random(11).values(n, size);
        const Quantised got(ops, x, offset);
        CHECK(got == Quantised(kScalar, x));
        CHECK(got.sums_are_exact());
        bool ok = true;
        for (std::size_t i = 0; i < n; ++i) {
          const double scale = got.scale[i / 32];
          ok = ok && std::abs(static_cast<int>(got.q[i])) <= kLargestQuant;
          // Half a unit, and the roundings of scale, inverse and product at 32512. Below 1e-30 all is zero.
          const double allowed = size <= 1e-30F ? 1.01 * static_cast<double>(size) : 0.506 * scale;
          ok = ok && near(got.q[i] * scale, x[i], allowed);
        }
        CHECK(ok);
      }
    }
  }
  // A largest value of 32512 has a scale of 1: halves go to the even neighbour.
  std::vector<float> ties(32, 0.0F);
  ties[31] = -32512.0F;
  const float at[10] = {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 1000.5F, 1001.5F, 0.49999997F, 31999.5F};
  const int to[10] = {0, 2, 2, 0, -2, -2, 1000, 1002, 0, 32000};
  for (std::size_t i = 0; i < 10; ++i) ties[3 * i] = at[i];
  const Quantised tied(ops, ties);
  for (std::size_t i = 0; i < 10; ++i) CHECK(tied.q[3 * i] == to[i]);
  CHECK(tied.q[31] == -kLargestQuant && tied.scale[0] == 1.0F && tied.sums_are_exact());

  // All at one end, and with both signs of the largest float32, whose sums overflow.
  for (float value : {kLargest, -kLargest, 1e38F}) {
    for (int pattern = 0; pattern < 4; ++pattern) {
      std::vector<float> x(32, value);
      for (std::size_t i = 0; i < 32; ++i) {
        if ((pattern == 1 && i % 2 == 1) || (pattern == 2 && i % 8 >= 4) || (pattern == 3 && i >= 16)) x[i] = -value;
      }
      const Quantised got(ops, x);
      CHECK(got == Quantised(kScalar, x) && std::isfinite(got.scale[0]));
      CHECK(std::abs(static_cast<int>(got.q[0])) == kLargestQuant && got.sums_are_exact());
    }
  }
  for (float odd : {kInf, -kInf, kNan}) {
    for (std::size_t where = 0; where < 32; ++where) {
      std::vector<float> x = Random(12).values(96);
      x[32 + where] = odd;
      const Quantised got(ops, x);
      CHECK(got == Quantised(kScalar, x) && std::isnan(got.scale[1]) && got.sum[1] == 0);
      CHECK(std::isfinite(got.scale[0]) && std::isfinite(got.scale[2]));
      bool zero = true;
      for (std::size_t i = 32; i < 64; ++i) zero = zero && got.q[i] == 0;
      CHECK(zero);
    }
  }
  // inf beside -inf, and beside NaN.
  std::vector<float> mixed(32, kInf);
  for (std::size_t i = 0; i < 32; i += 2) mixed[i] = -kInf;
  CHECK(Quantised(ops, mixed) == Quantised(kScalar, mixed));
  mixed[8] = kNan;
  CHECK(Quantised(ops, mixed) == Quantised(kScalar, mixed));
}

/// Every half there is comes back, and what lies between goes to the nearest.
void test_halves(const Table& ops) {
  std::vector<std::uint16_t> all;
  for (std::uint32_t h = 0; h < 0x10000U; ++h) {
    if ((h & 0x7C00U) != 0x7C00U || (h & 0x3FFU) == 0) all.push_back(static_cast<std::uint16_t>(h));
  }
  std::vector<float> values(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) values[i] = kazeia::half_to_float(all[i]);
  std::vector<std::uint16_t> back(all.size());
  ops.to_f16(values.data(), values.size(), back.data());
  CHECK(back == all);
  Random random(3);
  std::vector<float> any = random.values(4099, 9.0F);
  for (float v : {0.0F, -0.0F, 1e-8F, 2.98e-8F, 3e-8F, 6e-5F, 6.1e-5F, 65504.0F, 65519.0F, 65520.0F, 1e9F, kInf,
                  kDenormal, 2049.0F, 2051.0F, -1.00048828125F}) {
    any.push_back(v);
  }
  std::vector<std::uint16_t> got(any.size());
  std::vector<std::uint16_t> want(any.size());
  ops.to_f16(any.data(), any.size(), got.data());
  kScalar.to_f16(any.data(), any.size(), want.data());
  CHECK(got == want);
  const std::uint16_t one_and_next[] = {kazeia::float_to_half(2049.0F), kazeia::float_to_half(2051.0F),
                                        kazeia::float_to_half(65520.0F), kazeia::float_to_half(2.98e-8F)};
  CHECK(kazeia::half_to_float(one_and_next[0]) == 2048.0F && kazeia::half_to_float(one_and_next[1]) == 2052.0F);
  CHECK(kazeia::half_to_float(one_and_next[2]) == kInf && one_and_next[3] == 0);
  float nan = kNan;
  std::uint16_t half = 0;
  ops.to_f16(&nan, 1, &half);
  CHECK(std::isnan(kazeia::half_to_float(half)));
}

void test_f16_products(const Table& ops) {
  each_size([&](const Values<float>& a, const Values<float>& b, std::size_t n) {
    std::vector<std::uint16_t> half(n);
    std::vector<float> exact(n);
    for (std::size_t i = 0; i < n; ++i) {
      half[i] = kazeia::float_to_half(b[i]);
      exact[i] = kazeia::half_to_float(half[i]);
    }
    CHECK(same(ops.dot_f16(a.data(), half.data(), n), ops.dot(a.data(), exact.data(), n)));
    std::vector<float> y(n, 0.5F);
    std::vector<float> want(n, 0.5F);
    ops.add_scaled_f16(y.data(), 0.7F, half.data(), n);
    ops.add_scaled(want.data(), 0.7F, exact.data(), n);
    CHECK(y == want);
  });
}

}  // namespace

int main() {
  kazeia_test::each_isa([](Isa isa) {
    const Table& ops = kazeia::vector_ops::table(isa);
    CHECK((&ops == &kScalar) == (isa == Isa::scalar));
    test_dot(ops);
    test_add_scaled(ops);
    test_rms_norm(ops);
    test_silu_mul(ops);
    test_softmax(ops);
    test_quantize(ops);
    test_halves(ops);
    test_f16_products(ops);
  });
  return kazeia_test::summary();
}
