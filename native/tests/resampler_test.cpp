#include "kazeia/resampler.h"

#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include "check.h"
#include "kazeia/cpu.h"

namespace {

using kazeia::Resampler;

std::vector<float> sine(double hz, double rate, std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(std::sin(2 * 3.14159265358979 * hz * i / rate));
  return x;
}

std::vector<float> whole(std::uint32_t in_hz, std::uint32_t out_hz, const std::vector<float>& x) {
  Resampler resampler(in_hz, out_hz);
  std::vector<float> y;
  resampler.push(x.data(), x.size(), y);
  resampler.flush(y);
  return y;
}

double rms(const std::vector<float>& x, std::size_t skip) {
  double sum = 0;
  for (std::size_t i = skip; i + skip < x.size(); ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum / static_cast<double>(x.size() - 2 * skip));
}

void test_rates(std::uint32_t in_hz, std::uint32_t out_hz) {
  const std::size_t n = in_hz / 2;
  const auto y = whole(in_hz, out_hz, sine(997.0, in_hz, n));
  CHECK(y.size() == (n * std::uint64_t{out_hz} + in_hz - 1) / in_hz);
  // A sine comes out as the same sine at the same time: error under -80 dB away from the ends.
  const auto want = sine(997.0, out_hz, y.size());
  std::vector<float> error(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) error[i] = y[i] - want[i];
  CHECK(rms(error, y.size() / 5) < 1e-4);
  if (out_hz < in_hz) {
    // What the output's rate cannot hold is gone: under -80 dB.
    CHECK(rms(whole(in_hz, out_hz, sine(out_hz * 0.55, in_hz, n)), out_hz / 10) < 1e-4);
  }
}

void test_chunks() {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same values in every run
  std::vector<float> x(48000);
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  for (auto& v : x) v = values(random);
  for (auto [in_hz, out_hz] : {std::pair{48000U, 16000U}, {8000U, 16000U}, {44100U, 16000U}, {24000U, 44100U}}) {
    const auto want = whole(in_hz, out_hz, x);
    Resampler resampler(in_hz, out_hz);
    std::vector<float> got;
    for (std::size_t at = 0; at < x.size();) {
      const std::size_t k = std::min<std::size_t>(random() % 700, x.size() - at);
      resampler.push(x.data() + at, k, got);
      at += k;
    }
    resampler.flush(got);
    CHECK(got == want);  // bit for bit
    std::vector<float> again;
    resampler.push(x.data(), x.size(), again);
    resampler.flush(again);
    CHECK(again == want);  // flush left it as new
  }
}

template <typename F>
bool refused(F make) {
  try {
    make();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  for (auto isa : kazeia::kIsas) {
    if (!kazeia::select_isa(kazeia::isa_name(isa)).empty()) continue;
    for (std::uint32_t in_hz : {8000U, 11025U, 22050U, 24000U, 44100U, 48000U, 96000U}) {
      test_rates(in_hz, 16000);
    }
    test_rates(24000, 48000);
    test_rates(24000, 44100);
    test_chunks();
  }
  CHECK(whole(16000, 16000, {1.0F, 2.0F}) == (std::vector<float>{1.0F, 2.0F}));
  CHECK(whole(8000, 16000, {}).empty());
  CHECK(whole(8000, 16000, {1.0F}).size() == 2);
  CHECK(refused([] { Resampler(0, 16000); }));
  CHECK(refused([] { Resampler(16000, 0); }));
  CHECK(refused([] { Resampler(191999, 16001); }));
  return kazeia_test::summary();
}
