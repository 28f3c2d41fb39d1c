// What kernel tests share: the instruction sets that run here, and memory whose end a sanitizer watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "kazeia/cpu.h"

namespace kazeia_test {

/// test(isa) for all that this processor runs. KAZEIA_TEST_ISAS in the environment: their names, best first, that a
/// set left out by mistake does not pass for tested.
template <class Test>
void each_isa(const Test& test) {
  std::string tested;
  for (kazeia::Isa isa : kazeia::kIsas) {
    if (!kazeia::isa_supported(isa)) continue;
    const int before = failed;
    test(isa);
    if (failed != before) std::printf("  with %s\n", kazeia::isa_name(isa));
    tested += (tested.empty() ? "" : " ") + std::string(kazeia::isa_name(isa));
  }
  CHECK(!tested.empty());
  const char* expected = std::getenv("KAZEIA_TEST_ISAS");
  if (expected != nullptr && tested != expected) {
    std::printf("tested %s, not %s\n", tested.c_str(), expected);
    CHECK(tested == expected);
  }
}

/// n values that begin `offset` values after an aligned address and end where their memory ends.
template <class T>
class Values {
 public:
  explicit Values(std::size_t n, std::size_t offset = 0) : offset_(offset), all_(offset + n) {}
  Values(const std::vector<T>& values, std::size_t offset) : Values(values.size(), offset) {
    for (std::size_t i = 0; i < values.size(); ++i) (*this)[i] = values[i];
  }

  [[nodiscard]] T* data() { return all_.data() + offset_; }
  [[nodiscard]] const T* data() const { return all_.data() + offset_; }
  [[nodiscard]] std::size_t size() const { return all_.size() - offset_; }
  T& operator[](std::size_t i) { return all_[offset_ + i]; }
  const T& operator[](std::size_t i) const { return all_[offset_ + i]; }

 private:
  std::size_t offset_;
  std::vector<T> all_;
};

/// The same bits, or both NaN.
inline bool same(float a, float b) {
  std::uint32_t bits[2];
  std::memcpy(&bits[0], &a, sizeof a);
  std::memcpy(&bits[1], &b, sizeof b);
  return bits[0] == bits[1] || (a != a && b != b);
}

inline bool same(const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

/// The same values in every run and on every machine.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  /// In [-1, 1).
  float value() { return static_cast<float>(static_cast<std::int32_t>(bits() >> 8U) - 8388608) / 8388608.0F; }
  std::vector<float> values(std::size_t n, float scale = 1.0F) {
    std::vector<float> found(n);
    for (auto& v : found) v = scale * value();
    return found;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace kazeia_test
