// That the figures are right is code_predictor_test's to show; here, that nothing but the input changes them.
#include "kazeia/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "each_isa.h"
#include "odd_decoder.h"

namespace {

using kazeia::Decoder;
using kazeia::DecoderModel;
using kazeia::Isa;
using kazeia::ThreadTeam;
using kazeia_test::odd_shape;

constexpr std::size_t kPositions = 21;

/// Feeds embeddings, at most `at_once` at a time, until there are kPositions; all states, one after the other.
std::vector<float> states(Decoder& decoder, ThreadTeam& team, std::size_t at_once) {
  const std::size_t hidden = odd_shape().hidden;
  const std::vector<float> embeddings = kazeia_test::Random(2).values(kPositions * hidden);
  std::vector<float> found;
  while (decoder.sequence().length() < kPositions) {
    const std::size_t first = decoder.sequence().length();
    const std::size_t n = std::min(at_once, kPositions - first);
    std::memcpy(decoder.input(), embeddings.data() + first * hidden, n * hidden * sizeof(float));
    team.run([&](unsigned worker) { decoder.forward(n, worker); });
    CHECK(decoder.sequence().length() == first + n);
    found.insert(found.end(), decoder.hidden(), decoder.hidden() + n * hidden);
  }
  return found;
}

/// Two sequences at once, several positions of each: the same bits as alone.
void test_two_sequences(const DecoderModel& model, bool kv_f32, const std::vector<float>& want) {
  const std::size_t hidden = odd_shape().hidden;
  const std::vector<float> embeddings = kazeia_test::Random(2).values(kPositions * hidden);
  for (unsigned n_threads : {1U, 3U}) {
    ThreadTeam team(n_threads);
    Decoder decoder(model, team, kPositions, kv_f32);
    kazeia::Sequence other(odd_shape(), 9, kv_f32);
    bool right = true;
    // The same sequence twice, the second one behind: 3 positions and 1, in both orders.
    for (std::size_t round = 0; round < 7; ++round) {
      std::vector<kazeia::Sequence*> owners(4, &decoder.sequence());
      owners[round % 2 == 0 ? 3 : 0] = &other;
      std::size_t first = 3 * round;
      std::vector<std::size_t> at;
      at.reserve(owners.size());
      for (const auto* owner : owners) at.push_back(owner == &other ? round : first++);
      for (std::size_t v = 0; v < 4; ++v) {
        std::memcpy(decoder.input() + v * hidden, embeddings.data() + at[v] * hidden, hidden * sizeof(float));
      }
      team.run([&](unsigned worker) { decoder.forward(owners.data(), 4, worker); });
      for (std::size_t v = 0; v < 4; ++v) {
        right = right && kazeia_test::same(decoder.hidden() + v * hidden, want.data() + at[v] * hidden, hidden);
      }
    }
    CHECK(right && decoder.sequence().length() == 21 && other.length() == 7);
  }
}

/// Root of the mean square of a - b, of b's.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0;
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    square += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / square);
}

void test_isa(Isa isa) {
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  for (const auto& pair : kazeia_test::kOddPairs) {
    const kazeia_test::OddWeights weights(pair[0], pair[1]);
    const DecoderModel model(odd_shape(), weights.tensors());
    std::vector<float> of_cache[2];
    for (bool kv_f32 : {true, false}) {
      std::vector<float>& want = of_cache[kv_f32 ? 1 : 0];
      for (unsigned n_threads : {1U, 2U, 5U}) {
        ThreadTeam team(n_threads);
        Decoder decoder(model, team, kPositions, kv_f32);
        CHECK(decoder.sequence().n_positions() == kPositions && decoder.sequence().length() == 0);
        // One by one, in groups, and again after a reset: the same bits, for every number of threads.
        for (std::size_t at_once : {1, 3, 5, 16}) {
          decoder.sequence().reset();
          const std::vector<float> found = states(decoder, team, at_once);
          if (want.empty()) want = found;
          CHECK(found.size() == want.size() && kazeia_test::same(found.data(), want.data(), want.size()));
        }
        // What was forgotten leaves no trace.
        decoder.sequence().truncate(kPositions + 1);
        CHECK(decoder.sequence().length() == kPositions);
        decoder.sequence().truncate(6);
        const std::vector<float> rest = states(decoder, team, 7);
        CHECK(kazeia_test::same(rest.data(), want.data() + 6 * odd_shape().hidden, rest.size()));
      }
      test_two_sequences(model, kv_f32, want);
      CHECK(std::isfinite(distance(want, want)) && distance(std::vector<float>(want.size()), want) > 0.99);
    }
    // binary16 keeps 11 bits.
    const double apart = distance(of_cache[0], of_cache[1]);
    CHECK(apart > 0.0 && apart < 1e-3);
  }
}

}  // namespace

int main() {
  kazeia_test::each_isa(test_isa);
  return kazeia_test::summary();
}
