// The likeliest tokens of a large vocabulary, without sorting it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kazeia {

/// One thread at a time; does not allocate after the first call of the largest n, except where many logits are equal.
class LikelyTokens {
 public:
  /// Finds a few tokens among which the `count` likeliest of n must be, whatever becomes of others that are not found.
  /// @param logits (n,) float32.
  /// @return false where all n might be: a logit is NaN, or count is 0 or large beside n. Then ids() is of no use.
  bool find(const float* logits, std::size_t n, std::size_t count);

  /// What was found, ascending: all with at least some logit.
  [[nodiscard]] const std::vector<std::int32_t>& ids() const { return ids_; }

 private:
  std::vector<float> largest_;  // of each block
  std::vector<float> ordered_;
  std::vector<std::int32_t> ids_;
};

}  // namespace kazeia
