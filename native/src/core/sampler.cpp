#include "kazeia/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kazeia {

Pcg32::Pcg32(std::uint64_t seed, std::uint64_t stream) : increment_((stream << 1U) | 1U) {
  next();
  state_ += seed;
  next();
}

std::uint32_t Pcg32::next() {
  const std::uint64_t old = state_;
  state_ = old * 6364136223846793005ULL + increment_;
  const auto shifted = static_cast<std::uint32_t>(((old >> 18U) ^ old) >> 27U);
  const auto rotation = static_cast<std::uint32_t>(old >> 59U);
  return (shifted >> rotation) | (shifted << ((32U - rotation) & 31U));
}

double Pcg32::next_double() {
  const std::uint64_t high = next() >> 5U;  // 27 bits
  const std::uint64_t low = next() >> 6U;   // 26 bits
  return static_cast<double>((high << 26U) | low) * 0x1p-53;
}

void penalize_repetition(float* logits, std::size_t n, const std::int32_t* tokens, std::size_t n_tokens,
                         float penalty) {
  if (penalty == 1.0F) return;
  for (std::size_t i = 0; i < n_tokens; ++i) {
    const std::int32_t token = tokens[i];
    if (token < 0 || static_cast<std::size_t>(token) >= n) continue;
    // A token said twice is penalised once.
    if (std::find(tokens, tokens + i, token) != tokens + i) continue;
    float& logit = logits[token];
    logit = logit < 0.0F ? logit * penalty : logit / penalty;
  }
}

std::int32_t Sampler::sample(const float* logits, std::size_t n, const SamplerOptions& options, Pcg32& random) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  std::int32_t largest = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i]) || logits[i] == -kLowest) return -1;
    if (logits[i] != kLowest && (largest < 0 || logits[i] > logits[largest])) largest = static_cast<std::int32_t>(i);
  }
  if (largest < 0 || options.temperature <= 0.0F) return largest;
  // A temperature so low that the figures overflow is as good as 0.
  if (!std::isfinite(logits[largest] / options.temperature)) return largest;

  candidates_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (logits[i] != kLowest) candidates_.push_back({logits[i] / options.temperature, static_cast<std::int32_t>(i)});
  }
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  if (options.top_k != 0 && options.top_k < candidates_.size()) {
    const auto kth = candidates_.begin() + static_cast<std::ptrdiff_t>(options.top_k) - 1;
    std::nth_element(candidates_.begin(), kth, candidates_.end(), before);
    const float threshold = kth->logit;
    const auto end =
        std::partition(kth + 1, candidates_.end(), [&](const Candidate& c) { return c.logit >= threshold; });
    candidates_.erase(end, candidates_.end());
  }
  std::sort(candidates_.begin(), candidates_.end(), before);

  weights_.clear();
  double total = 0.0;
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(std::exp(static_cast<double>(candidate.logit) - candidates_.front().logit));
    total += weights_.back();
  }
  if (options.top_p < 1.0F) {
    // Those go whose probability and that of all less likely ones add up to 1 - top_p at most.
    double tail = 0.0;
    while (weights_.size() > 1) {
      tail += weights_.back();
      if (tail / total > 1.0 - static_cast<double>(options.top_p)) break;
      weights_.pop_back();
    }
    total = 0.0;
    for (const double weight : weights_) total += weight;
  }
  double left = random.next_double() * total;
  for (std::size_t i = 0; i + 1 < weights_.size(); ++i) {
    left -= weights_[i];
    if (left < 0.0) return candidates_[i].token;
  }
  return candidates_[weights_.size() - 1].token;
}

}  // namespace kazeia
