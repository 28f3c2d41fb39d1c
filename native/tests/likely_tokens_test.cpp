#include "kazeia/likely_tokens.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "each_isa.h"

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Whether what is found is just what has at least some logit, in order, and at least `count`.
bool is_right(const std::vector<float>& logits, std::size_t count, const std::vector<std::int32_t>& ids) {
  if (ids.size() < count) return false;
  float least = kInf;
  for (std::int32_t id : ids) least = std::min(least, logits[static_cast<std::size_t>(id)]);
  std::vector<std::int32_t> want;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] >= least) want.push_back(static_cast<std::int32_t>(i));
  }
  return ids == want;
}

void test_finds_the_likeliest() {
  kazeia::LikelyTokens likely;  // the same throughout: nothing is left of a call before
  for (std::size_t n : {256, 257, 319, 4000, 32000, 151936}) {
    for (std::size_t count : {1, 2, 5, 40, 104}) {
      kazeia_test::Random random(static_cast<std::uint32_t>(n + count));
      const std::vector<float> logits = random.values(n, 20.0F);
      const bool few = count <= n / 64 / 4;
      CHECK(likely.find(logits.data(), n, count) == few);
      if (few) CHECK(is_right(logits, count, likely.ids()));
      if (few && n >= 4000) CHECK(likely.ids().size() <= 3 * count + 40);
    }
  }
}

/// The likeliest in the last values, which fill no block; in one block; and equal ones.
void test_odd_places() {
  kazeia::LikelyTokens likely;
  std::vector<float> logits = kazeia_test::Random(1).values(4000 + 33);
  for (std::size_t i = 4032; i < 4033; ++i) logits[i] = 50.0F;
  CHECK(likely.find(logits.data(), logits.size(), 5) && is_right(logits, 5, likely.ids()));
  CHECK(likely.ids().back() == 4032);
  for (std::size_t i = 640; i < 704; ++i) logits[i] = 60.0F;
  CHECK(likely.find(logits.data(), logits.size(), 5) && is_right(logits, 5, likely.ids()));
  CHECK(likely.ids().size() >= 65);
  const std::vector<float> equal(2000, -1.0F);
  CHECK(likely.find(equal.data(), equal.size(), 3) && likely.ids().size() == 2000);
}

void test_no_numbers() {
  kazeia::LikelyTokens likely;
  for (std::size_t at : {0, 100, 1279, 1280, 1299}) {
    std::vector<float> logits = kazeia_test::Random(2).values(1300);
    logits[at] = kNan;
    CHECK(!likely.find(logits.data(), logits.size(), 3));
    logits[at] = kInf;
    CHECK(likely.find(logits.data(), logits.size(), 3) && is_right(logits, 3, likely.ids()));
    logits[at] = -kInf;
    CHECK(likely.find(logits.data(), logits.size(), 3) && is_right(logits, 3, likely.ids()));
  }
  const std::vector<float> none(1300, -kInf);
  CHECK(likely.find(none.data(), none.size(), 3) && likely.ids().size() == 1300);
}

void test_all_of_them() {
  kazeia::LikelyTokens likely;
  const std::vector<float> logits = kazeia_test::Random(3).values(1300);
  CHECK(!likely.find(logits.data(), logits.size(), 0));
  CHECK(!likely.find(logits.data(), logits.size(), 6));
  CHECK(!likely.find(logits.data(), 63, 1));
  CHECK(!likely.find(logits.data(), 0, 1));
}

}  // namespace

int main() {
  test_finds_the_likeliest();
  test_odd_places();
  test_no_numbers();
  test_all_of_them();
  return kazeia_test::summary();
}
