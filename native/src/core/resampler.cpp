#include "kazeia/resampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "polyphase_fir/polyphase_fir.h"

namespace kazeia {
namespace {

constexpr double kPi = 3.14159265358979323846;
// Zero crossings on each side, and the Kaiser window's beta for 90 dB (Oppenheim & Schafer, section 7.6:
// beta = 0.1102 (A - 8.7)); the cutoff leaves the transition band below Nyquist:
// width = (A - 8) / (2.285 * 2 pi * 2 * crossings) = 0.0446 of the rate.
constexpr double kCrossings = 64.0;
constexpr double kBeta = 8.96;
constexpr double kCutoff = 0.5 - 0.0446 / 2;

double bessel_i0(double x) {
  double sum = 1.0;
  double term = 1.0;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

double windowed_sinc(double t, double half, double scale) {
  const double r = t / half;
  if (std::abs(r) >= 1.0) return 0.0;
  const double window = bessel_i0(kBeta * std::sqrt(1.0 - r * r)) / bessel_i0(kBeta);
  const double x = 2.0 * kCutoff * scale * t;
  const double sinc = std::abs(x) < 1e-12 ? 1.0 : std::sin(kPi * x) / (kPi * x);
  return sinc * window;
}

}  // namespace

Resampler::Resampler(std::uint32_t in_hz, std::uint32_t out_hz) {
  if (in_hz == 0 || out_hz == 0) throw std::invalid_argument("a sample rate of 0 Hz");
  const std::uint32_t divisor = std::gcd(in_hz, out_hz);
  up_ = out_hz / divisor;
  down_ = in_hz / divisor;
  if (up_ == down_) return;
  const double scale = std::min(1.0, static_cast<double>(up_) / static_cast<double>(down_));
  const auto half = static_cast<std::size_t>(std::ceil(kCrossings / scale));
  n_taps_ = 2 * half;
  if (n_taps_ > kMaxTaps / up_) throw std::invalid_argument("a ratio of sample rates that is too fine");
  taps_.resize(up_ * n_taps_);
  for (std::uint64_t phase = 0; phase < up_; ++phase) {
    float* row = taps_.data() + phase * n_taps_;
    double sum = 0.0;
    std::vector<double> exact(n_taps_);
    for (std::size_t i = 0; i < n_taps_; ++i) {
      const double t = static_cast<double>(phase) / static_cast<double>(up_) -
                       (static_cast<double>(i) - static_cast<double>(half) + 1.0);
      exact[i] = windowed_sinc(t, static_cast<double>(half), scale);
      sum += exact[i];
    }
    for (std::size_t i = 0; i < n_taps_; ++i) row[i] = static_cast<float>(exact[i] / sum);  // gain 1 at 0 Hz
  }
  reset();
}

void Resampler::reset() {
  n_in_ = 0;
  n_out_ = 0;
  const std::size_t before = n_taps_ == 0 ? 0 : n_taps_ / 2 - 1;
  held_.assign(before, 0.0F);  // silence before the first sample
  first_ = -static_cast<std::int64_t>(before);
}

void Resampler::push(const float* in, std::size_t n, std::vector<float>& out) {
  if (n == 0) return;
  if (n_taps_ == 0) {
    out.insert(out.end(), in, in + n);
    return;
  }
  held_.insert(held_.end(), in, in + n);
  n_in_ += n;
  emit(n_in_, ~std::uint64_t{0}, out);
}

void Resampler::flush(std::vector<float>& out) {
  if (n_taps_ != 0) {
    held_.insert(held_.end(), n_taps_ / 2, 0.0F);
    emit(n_in_ + n_taps_ / 2, (n_in_ * up_ + down_ - 1) / down_, out);
  }
  reset();
}

void Resampler::emit(std::uint64_t n_available, std::uint64_t n_outputs, std::vector<float>& out) {
  const auto dot = polyphase_fir::dot_function(active_isa());
  const std::uint64_t half = n_taps_ / 2;
  std::uint64_t base = n_out_ * down_ / up_;
  while (n_out_ < n_outputs && base + half < n_available) {
    const std::uint64_t phase = n_out_ * down_ % up_;
    const auto from = static_cast<std::size_t>(static_cast<std::int64_t>(base - half + 1) - first_);
    out.push_back(dot(taps_.data() + phase * n_taps_, held_.data() + from, n_taps_));
    ++n_out_;
    base = n_out_ * down_ / up_;
  }
  // Drop what no later output needs, but not on every call: moving the rest costs.
  const std::int64_t needed = static_cast<std::int64_t>(base) - static_cast<std::int64_t>(half) + 1;
  const std::int64_t spare = needed - first_;
  if (spare > 8192 && spare <= static_cast<std::int64_t>(held_.size())) {
    held_.erase(held_.begin(), held_.begin() + spare);
    first_ = needed;
  }
}

}  // namespace kazeia
