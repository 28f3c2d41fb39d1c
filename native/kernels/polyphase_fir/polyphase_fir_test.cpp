#include "polyphase_fir/polyphase_fir.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"

namespace {

using kazeia::Isa;
using kazeia::polyphase_fir::dot_function;
using kazeia::polyphase_fir::dot_scalar;

// Against scalar, relative to the sum of magnitudes: the order of additions differs.
void compare(Isa isa, const float* taps, const float* x, std::size_t n) {
  double magnitude = 0.0;
  for (std::size_t i = 0; i < n; ++i) magnitude += std::abs(static_cast<double>(taps[i]) * x[i]);
  const float want = dot_scalar(taps, x, n);
  const float got = dot_function(isa)(taps, x, n);
  CHECK(std::abs(static_cast<double>(want) - got) <= 1e-6 * magnitude + 1e-38);
}

void test_isa(Isa isa) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same values in every run
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  std::vector<float> taps(400);
  std::vector<float> x(400);
  for (auto& v : taps) v = values(random);
  for (auto& v : x) v = values(random);
  for (std::size_t width : {std::size_t{4}, std::size_t{8}, std::size_t{16}, std::size_t{32}}) {
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, width - 1, width, width + 1, 3 * width + 5}) {
      for (std::size_t offset = 0; offset < 4; ++offset) compare(isa, taps.data() + offset, x.data() + 3 - offset, n);
    }
  }
  CHECK(dot_function(isa)(nullptr, nullptr, 0) == 0.0F);

  const float inf = std::numeric_limits<float>::infinity();
  for (std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{40}, std::size_t{100}}) {
    std::vector<float> odd = x;
    odd[at] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(dot_function(isa)(taps.data(), odd.data(), 101)));
    odd[at] = taps[at] > 0 ? inf : -inf;
    CHECK(dot_function(isa)(taps.data(), odd.data(), 101) == inf);
  }
  std::vector<float> tiny(101, std::numeric_limits<float>::denorm_min());
  std::vector<float> ones(101, 1.0F);
  CHECK(dot_function(isa)(tiny.data(), ones.data(), 101) == dot_scalar(tiny.data(), ones.data(), 101));
}

}  // namespace

int main() {
  int tested = 0;
  for (Isa isa : kazeia::kIsas) {
    if (!kazeia::isa_supported(isa)) continue;
    test_isa(isa);
    ++tested;
  }
  CHECK(tested >= 1);
  return kazeia_test::summary();
}
