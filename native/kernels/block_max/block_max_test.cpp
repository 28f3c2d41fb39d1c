#include "block_max/block_max.h"

#include <cmath>
#include <limits>
#include <vector>

#include "each_isa.h"

namespace {

using kazeia::Isa;
using kazeia::block_max::Function;
using kazeia::block_max::kBlock;
using kazeia_test::Random;
using kazeia_test::Values;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

/// The same values, or both NaN.
bool agree(Function function, const std::vector<float>& x, std::size_t offset = 0) {
  Values<float> values(x, offset);
  const std::size_t n_blocks = x.size() / kBlock;
  Values<float> got(n_blocks, offset % 2);
  std::vector<float> want(n_blocks);
  function(values.data(), n_blocks, got.data());
  kazeia::block_max::block_max_scalar(x.data(), n_blocks, want.data());
  bool ok = true;
  for (std::size_t b = 0; b < n_blocks; ++b) {
    ok = ok && (got[b] == want[b] || (std::isnan(got[b]) && std::isnan(want[b])));
  }
  return ok;
}

void test_scalar() {
  std::vector<float> x(3 * kBlock, -2.0F);
  x[5] = -1.0F;
  x[kBlock] = 7.0F;
  x[3 * kBlock - 1] = kNan;
  float out[3];
  kazeia::block_max::block_max_scalar(x.data(), 3, out);
  CHECK(out[0] == -1.0F && out[1] == 7.0F && std::isnan(out[2]));
}

void test_sizes(Function function) {
  for (std::size_t n_blocks : {0, 1, 2, 3, 7, 8, 9, 29}) {
    for (std::size_t offset = 0; offset < 4; ++offset) {
      CHECK(agree(function, Random(static_cast<std::uint32_t>(n_blocks)).values(n_blocks * kBlock, 9.0F), offset));
      CHECK(agree(function, std::vector<float>(n_blocks * kBlock, -kInf), offset));
    }
  }
}

/// The largest, and what is no number, at every place of a block.
void test_places(Function function) {
  for (float odd : {kNan, kInf, -kInf, 100.0F, kDenormal}) {
    for (std::size_t at = 0; at < kBlock; ++at) {
      for (float others : {-kDenormal, -5.0F, -kInf}) {
        std::vector<float> x(3 * kBlock, others);
        x[kBlock + at] = odd;
        CHECK(agree(function, x));
        float out[3];
        function(x.data(), 3, out);
        CHECK(out[0] == others && out[2] == others);
        CHECK(odd == -kInf ? out[1] == others : kazeia_test::same(out[1], odd));
      }
      std::vector<float> mixed = Random(3).values(kBlock);
      mixed[at] = odd;
      mixed[(at + 9) % kBlock] = kInf;
      CHECK(agree(function, mixed));
      mixed[(at + 40) % kBlock] = kNan;
      CHECK(agree(function, mixed));
    }
  }
}

}  // namespace

int main() {
  test_scalar();
  kazeia_test::each_isa([](Isa isa) {
    const Function function = kazeia::block_max::function(isa);
    CHECK((function == kazeia::block_max::block_max_scalar) == (isa == Isa::scalar));
    test_sizes(function);
    test_places(function);
  });
  return kazeia_test::summary();
}
