// Sampling as Hugging Face's logits processors do it, from a generator that is the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kazeia {

/// PCG32 (XSH-RR 64/32, O'Neill 2014, pcg-random.org): small, named, with published test vectors.
class Pcg32 {
 public:
  explicit Pcg32(std::uint64_t seed, std::uint64_t stream = 0);
  std::uint32_t next();
  /// Uniform in [0, 1), 53 bits, from two draws.
  double next_double();

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

struct SamplerOptions {
  float temperature = 0.9F;         // 0: the largest logit, whatever the rest says
  std::size_t top_k = 50;           // 0: no limit
  float top_p = 1.0F;               // 1: no limit
  float repetition_penalty = 1.0F;  // 1: none
};

/// Divides a positive logit by the penalty, and multiplies a negative one, once for each token in `tokens`.
/// Tokens outside [0, n) are left out. Keskar et al., arXiv:1909.05858.
void penalize_repetition(float* logits, std::size_t n, const std::int32_t* tokens, std::size_t n_tokens, float penalty);

/// One of n logits: temperature, top-k (ties stay), top-p (at least one stays), then a draw. With the same
/// logits, options and generator the result is the same on every machine. logits of -inf are never drawn.
class Sampler {
 public:
  /// Returns 0 to n - 1, or -1 when a logit is NaN or +inf, or none is finite. One thread at a time; does not
  /// allocate after the first call of the largest n.
  std::int32_t sample(const float* logits, std::size_t n, const SamplerOptions& options, Pcg32& random);

 private:
  struct Candidate {
    float logit;
    std::int32_t token;
  };
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace kazeia
