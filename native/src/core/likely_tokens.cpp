#include "kazeia/likely_tokens.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "block_max/block_max.h"

namespace kazeia {

bool LikelyTokens::find(const float* logits, std::size_t n, std::size_t count) {
  using block_max::kBlock;
  const std::size_t n_blocks = n / kBlock;
  if (count == 0 || count > n_blocks / 4) return false;
  largest_.resize(n_blocks);
  block_max::function(active_isa())(logits, n_blocks, largest_.data());
  const auto odd = [](float x) { return std::isnan(x); };
  if (std::any_of(largest_.begin(), largest_.end(), odd)) return false;
  if (std::any_of(logits + n_blocks * kBlock, logits + n, odd)) return false;

  // `count` blocks have a largest value of at least the count-th largest among these: so many tokens have it or more.
  ordered_ = largest_;
  const auto nth = ordered_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(ordered_.begin(), nth, ordered_.end(), std::greater<>());
  const float least = *nth;
  ids_.clear();
  const auto take = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (logits[i] >= least) ids_.push_back(static_cast<std::int32_t>(i));
    }
  };
  for (std::size_t b = 0; b < n_blocks; ++b) {
    if (largest_[b] >= least) take(b * kBlock, (b + 1) * kBlock);
  }
  take(n_blocks * kBlock, n);
  return true;
}

}  // namespace kazeia
