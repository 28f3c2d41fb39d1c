#include "kazeia/sampler.h"

#include <cmath>
#include <limits>
#include <vector>

#include "check.h"

namespace {

using kazeia::Pcg32;
using kazeia::penalize_repetition;
using kazeia::Sampler;
using kazeia::SamplerOptions;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The published output of pcg32-demo: seed 42, stream 54.
void test_generator() {
  Pcg32 random(42, 54);
  for (std::uint32_t want : {0xa15c02b7U, 0x7b47f409U, 0xba1d3330U, 0x83d2f293U, 0xbfa4784bU, 0xcbed606eU}) {
    CHECK(random.next() == want);
  }
  // 27 bits of the first draw, 26 of the second.
  Pcg32 again(42, 54);
  CHECK(again.next_double() == ((0xa15c02b7U >> 5U) * 67108864.0 + (0x7b47f409U >> 6U)) / 9007199254740992.0);
  CHECK(again.next() == 0xba1d3330U);
  CHECK(Pcg32(1).next() != Pcg32(2).next() && Pcg32(1, 0).next() != Pcg32(1, 1).next());
  Pcg32 many(7);
  for (int i = 0; i < 10000; ++i) {
    const double value = many.next_double();
    if (!(value >= 0.0 && value < 1.0)) CHECK(false);
  }
}

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  logits.reserve(probabilities.size());
  for (double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::int32_t sample(const std::vector<float>& logits, const SamplerOptions& options, std::uint64_t seed = 0) {
  Pcg32 random(seed);
  return Sampler().sample(logits.data(), logits.size(), options, random);
}

/// What is drawn by a uniform number u is the token in whose share of [0, 1) u lies, shares in order of falling
/// probability. Draws many times from a generator whose numbers are known, and compares each.
void expect(const std::vector<float>& logits, const SamplerOptions& options, const std::vector<std::int32_t>& order,
            const std::vector<double>& shares) {
  double total = 0.0;
  for (double share : shares) total += share;
  Sampler sampler;
  Pcg32 random(99);
  Pcg32 shadow(99);
  int wrong = 0;
  std::vector<int> drawn(order.size(), 0);
  for (int i = 0; i < 2000; ++i) {
    const double u = shadow.next_double();
    std::size_t at = 0;
    double edge = shares[0] / total;
    bool on_an_edge = std::abs(u - edge) < 1e-6;
    while (at + 1 < shares.size() && u >= edge) {
      edge += shares[++at] / total;
      on_an_edge = on_an_edge || std::abs(u - edge) < 1e-6;
    }
    const std::int32_t token = sampler.sample(logits.data(), logits.size(), options, random);
    ++drawn[at];
    wrong += token == order[at] || on_an_edge ? 0 : 1;
  }
  CHECK(wrong == 0);
  for (int count : drawn) CHECK(count > 0);
  CHECK(random.next() == shadow.next());  // one draw of 53 bits each
}

void test_draws() {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  expect(logits, {1.0F, 0, 1.0F}, {1, 3, 2, 0}, {0.4, 0.3, 0.2, 0.1});
  expect(logits, {1.0F, 4, 1.0F}, {1, 3, 2, 0}, {0.4, 0.3, 0.2, 0.1});
  expect(logits, {1.0F, 100, 1.0F}, {1, 3, 2, 0}, {0.4, 0.3, 0.2, 0.1});
  // Temperature 0.5 squares the probabilities, 2 takes their roots.
  expect(logits, {0.5F, 0, 1.0F}, {1, 3, 2, 0}, {0.16, 0.09, 0.04, 0.01});
  expect(logits, {2.0F, 0, 1.0F}, {1, 3, 2, 0}, {std::sqrt(0.4), std::sqrt(0.3), std::sqrt(0.2), std::sqrt(0.1)});
  expect(logits, {1.0F, 2, 1.0F}, {1, 3}, {0.4, 0.3});
  expect(logits, {1.0F, 1, 1.0F}, {1}, {1.0});
}

/// As Hugging Face's TopKLogitsWarper: what equals the k-th largest stays. Of equal ones the smaller token first.
void test_ties() {
  const std::vector<float> logits{1.0F, 2.0F, 1.0F, 0.0F, 1.0F};
  const double e = std::exp(1.0);
  expect(logits, {1.0F, 2, 1.0F}, {1, 0, 2, 4}, {e, 1.0, 1.0, 1.0});
  expect(logits, {1.0F, 4, 1.0F}, {1, 0, 2, 4}, {e, 1.0, 1.0, 1.0});
  expect(logits, {1.0F, 5, 1.0F}, {1, 0, 2, 4, 3}, {e, 1.0, 1.0, 1.0, 1.0 / e});
  expect(logits, {1.0F, 1, 1.0F}, {1}, {1.0});
  expect(std::vector<float>(6, -3.0F), {0.7F, 3, 1.0F}, {0, 1, 2, 3, 4, 5}, {1, 1, 1, 1, 1, 1});
  expect({0.0F, -0.0F}, {1.0F, 1, 1.0F}, {0, 1}, {1.0, 1.0});
}

/// As Hugging Face's TopPLogitsWarper: those go whose probability, with all smaller ones', is 1 - top_p at most.
void test_top_p() {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  expect(logits, {1.0F, 0, 0.95F}, {1, 3, 2, 0}, {0.4, 0.3, 0.2, 0.1});
  expect(logits, {1.0F, 0, 0.85F}, {1, 3, 2}, {0.4, 0.3, 0.2});
  expect(logits, {1.0F, 0, 0.75F}, {1, 3, 2}, {0.4, 0.3, 0.2});
  expect(logits, {1.0F, 0, 0.65F}, {1, 3}, {0.4, 0.3});
  expect(logits, {1.0F, 0, 0.35F}, {1}, {1.0});
  expect(logits, {1.0F, 0, 1e-6F}, {1}, {1.0});
  expect(logits, {1.0F, 0, 0.0F}, {1}, {1.0});
  // top-k is first, and top-p works on what it leaves: 4/7 and 3/7.
  expect(logits, {1.0F, 2, 0.6F}, {1, 3}, {0.4, 0.3});
  expect(logits, {1.0F, 2, 0.55F}, {1}, {1.0});
  // Temperature is before both: 0.16 of 0.3 is 53 %.
  expect(logits, {0.5F, 0, 0.5F}, {1}, {1.0});
}

void test_greedy() {
  CHECK(sample({1.0F, 3.0F, 3.0F, 2.0F}, {0.0F, 50, 1.0F}) == 1);
  CHECK(sample({-kInf, -7.0F, -kInf}, {0.0F, 0, 0.1F}) == 1);
  Pcg32 random(3);
  Pcg32 untouched(3);
  const float one[1] = {5.0F};
  CHECK(Sampler().sample(one, 1, {0.0F, 1, 1.0F}, random) == 0);
  CHECK(random.next() == untouched.next());
}

void test_odd_logits() {
  for (float temperature : {0.0F, 1.0F}) {
    for (std::size_t at : {0, 1, 2}) {
      std::vector<float> logits(3, 1.0F);
      logits[at] = kNan;
      CHECK(sample(logits, {temperature, 50, 1.0F}) == -1);
      logits[at] = kInf;
      CHECK(sample(logits, {temperature, 50, 1.0F}) == -1);
      logits.assign(3, -kInf);
      CHECK(sample(logits, {temperature, 50, 1.0F}) == -1);
      logits[at] = -1e30F;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CHECK(sample(logits, {temperature, 50, 1.0F}, seed) == static_cast<std::int32_t>(at));
      }
    }
    CHECK(sample({}, {temperature, 50, 1.0F}) == -1);
  }
  expect({-kInf, std::log(0.25F), -kInf, std::log(0.75F)}, {1.0F, 50, 1.0F}, {3, 1}, {0.75, 0.25});
  // So far apart that the others' probability is 0.
  for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(sample({-3e38F, 3e38F, 0.0F}, {0.9F, 50, 1.0F}, seed) == 1);
  // A temperature at which the scaled logits overflow leaves the largest.
  for (float temperature : {1e-30F, 1e-38F, 1e-45F}) {
    CHECK(sample({1.0F, 3e10F, 2e10F}, {temperature, 50, 1.0F}) == 1);
    CHECK(sample({-3e10F, -1e10F, -2e10F}, {temperature, 50, 1.0F}) == 1);
  }
}

void test_penalty() {
  const std::vector<std::int32_t> said{1, 3, 1, -1, 5, 99, 4, 1};
  std::vector<float> logits{1.0F, 2.0F, 3.0F, -2.0F, 0.0F, -kInf};
  penalize_repetition(logits.data(), logits.size(), said.data(), said.size(), 1.25F);
  CHECK((logits == std::vector<float>{1.0F, 1.6F, 3.0F, -2.5F, 0.0F, -kInf}));
  std::vector<float> same = logits;
  penalize_repetition(same.data(), same.size(), said.data(), said.size(), 1.0F);
  penalize_repetition(same.data(), same.size(), nullptr, 0, 2.0F);
  CHECK(same == logits);
}

/// The same figures, options and seed: the same tokens, however often the sampler was used before.
void test_determinism() {
  std::vector<float> logits(2048);
  Pcg32 source(5);
  for (auto& v : logits) v = static_cast<float>(source.next_double() * 8.0);
  Sampler used;
  Pcg32 random(6);
  std::vector<std::int32_t> first(64);
  for (auto& token : first) token = used.sample(logits.data(), logits.size(), {0.9F, 50, 0.95F}, random);
  Pcg32 again(6);
  for (const std::int32_t token : first) {
    CHECK(Sampler().sample(logits.data(), logits.size(), {0.9F, 50, 0.95F}, again) == token);
  }
  bool differs = false;
  for (const std::int32_t token : first) differs = differs || token != first[0];
  CHECK(differs);
}

}  // namespace

int main() {
  test_generator();
  test_draws();
  test_ties();
  test_top_p();
  test_greedy();
  test_odd_logits();
  test_penalty();
  test_determinism();
  return kazeia_test::summary();
}
