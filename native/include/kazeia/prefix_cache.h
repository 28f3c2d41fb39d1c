// What a talker keeps of the beginnings of prompts: one state for each voice and language lately used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

namespace kazeia {

/// The states of the last kMax beginnings, found by their embeddings. One thread at a time.
template <class State>
class PrefixCache {
 public:
  /// A beginning of the published models has 7 to 9 positions: 1 MB at f16 each.
  static constexpr std::size_t kMax = 8;

  /// The state that n values of embeddings lead to, or null. Valid until the next call.
  const State* find(const float* embeds, std::size_t n) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) {
      return entry.embeds.size() == n && std::memcmp(entry.embeds.data(), embeds, n * sizeof(float)) == 0;
    });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return &found->state;
  }

  /// Forgets the one that was not used for longest where there are too many.
  void add(const float* embeds, std::size_t n, State state) {
    kept_.push_front({std::vector<float>(embeds, embeds + n), std::move(state)});
    if (kept_.size() > kMax) kept_.pop_back();
  }

  void clear() { kept_.clear(); }

 private:
  struct Entry {
    std::vector<float> embeds;
    State state;
  };
  std::list<Entry> kept_;  // the one used last is first
};

}  // namespace kazeia
