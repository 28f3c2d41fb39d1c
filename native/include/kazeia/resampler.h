// Sample-rate conversion by a polyphase windowed-sinc filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kazeia {

/// Converts a mono float32 stream from one rate to another by the ratio of the two.
///
/// Linear phase, delay compensated: output n stands at time n / out_hz of the input. Any chunking gives
/// the same samples bit for bit. Kaiser window, stopband under -90 dB, passband to 0.91 of the smaller
/// Nyquist frequency. Owns its state; one thread at a time.
class Resampler {
 public:
  /// Widest ratio table that is built, in floats (64 MB).
  static constexpr std::size_t kMaxTaps = 16'777'216;

  /// @param in_hz, out_hz  rates, both > 0.
  /// @throws std::invalid_argument for a rate of 0 or a ratio whose table would exceed kMaxTaps.
  Resampler(std::uint32_t in_hz, std::uint32_t out_hz);

  /// Appends the samples that are now certain to `out`. @param in (n,) samples; may be null when n is 0.
  void push(const float* in, std::size_t n, std::vector<float>& out);

  /// Appends what is left, the input continued by silence; then as new. In all,
  /// ceil(n_in * out_hz / in_hz) samples come out.
  void flush(std::vector<float>& out);

  /// Forgets the stream.
  void reset();

  /// Filter length in input samples.
  std::size_t n_taps() const { return n_taps_; }

 private:
  void emit(std::uint64_t n_available, std::uint64_t n_outputs, std::vector<float>& out);

  std::uint64_t up_ = 1;     // out_hz / gcd
  std::uint64_t down_ = 1;   // in_hz / gcd
  std::size_t n_taps_ = 0;   // even
  std::vector<float> taps_;  // (up_, n_taps_), one row a phase
  std::vector<float> held_;  // input from index first_ on; index 0 is the first real sample
  std::int64_t first_ = 0;
  std::uint64_t n_in_ = 0;
  std::uint64_t n_out_ = 0;
};

}  // namespace kazeia
