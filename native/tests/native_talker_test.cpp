// The talker on Kazeia's kernels: its calls. That its figures are llama.cpp's is for Python's golden tests.
#include "kazeia/native_talker.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "each_isa.h"
#include "odd_decoder.h"

namespace {

using kazeia::Isa;
using kazeia::NativeTalker;
using kazeia::NativeTalkerModel;
using kazeia::Stopped;
using kazeia::ThreadTeam;
using kazeia::WeightType;
using kazeia_test::kOddVocab;
using kazeia_test::odd_shape;
using kazeia_test::OddWeights;

constexpr std::size_t kPositions = 40;
constexpr std::size_t kPrompt = 23;
constexpr std::size_t kPrefix = 9;

std::vector<float> embeddings() { return kazeia_test::Random(3).values(kPositions * odd_shape().hidden); }

/// Hidden state and logits of the last position, one after the other.
std::vector<float> last(const NativeTalker& talker) {
  std::vector<float> found(talker.hidden(), talker.hidden() + talker.n_embd());
  found.insert(found.end(), talker.logits(), talker.logits() + talker.n_vocab());
  return found;
}

bool equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && kazeia_test::same(a.data(), b.data(), a.size());
}

/// The bits depend neither on how positions come in, nor on what is kept of them, nor on threads.
void test_isa(Isa isa) {
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  const std::vector<float> embeds = embeddings();
  const std::size_t n_embd = odd_shape().hidden;
  for (const auto& pair : kazeia_test::kOddPairs) {
    const OddWeights weights(pair[0], pair[1]);
    const NativeTalkerModel model(odd_shape(), kOddVocab, weights.tensors());
    std::vector<float> want_hidden;
    std::vector<float> want_logits;
    for (unsigned n_threads : {1U, 3U}) {
      ThreadTeam team(n_threads);
      NativeTalker talker(model, team, kPositions, false);
      CHECK(talker.n_embd() == n_embd && talker.n_vocab() == kOddVocab && talker.n_positions() == kPositions);
      std::vector<float> hidden(kPositions * n_embd);
      std::vector<float> logits(kPositions * kOddVocab);
      talker.forward(embeds.data(), kPositions, hidden.data(), logits.data());
      CHECK(talker.length() == kPositions);
      if (n_threads == 1) {
        want_hidden = hidden;
        want_logits = logits;
      }
      CHECK(equal(hidden, want_hidden) && equal(logits, want_logits));
      const auto is_at = [&](std::size_t position) {
        return talker.length() == position + 1 &&
               kazeia_test::same(talker.hidden(), want_hidden.data() + position * n_embd, n_embd) &&
               kazeia_test::same(talker.logits(), want_logits.data() + position * kOddVocab, kOddVocab);
      };
      CHECK(is_at(kPositions - 1));
      // Twice: the second time the beginning is there already.
      for (std::size_t computed : {kPrompt, kPrompt - kPrefix}) {
        CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix) == computed);
        CHECK(is_at(kPrompt - 1));
        for (std::size_t i = kPrompt; i < kPositions; ++i) {
          talker.decode(embeds.data() + i * n_embd);
          CHECK(is_at(i));
        }
      }
      // Another beginning, a longer one, none: computed anew. What was kept of others stays, a reset too.
      std::vector<float> changed = embeds;
      changed[5] += 1.0F;
      CHECK(talker.prefill(changed.data(), kPrompt, kPrefix) == kPrompt && !is_at(kPrompt - 1));
      CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix) == kPrompt - kPrefix && is_at(kPrompt - 1));
      CHECK(talker.prefill(changed.data(), kPrompt, kPrefix) == kPrompt - kPrefix && !is_at(kPrompt - 1));
      CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix + 1) == kPrompt && is_at(kPrompt - 1));
      CHECK(talker.prefill(embeds.data(), kPrompt, 0) == kPrompt && is_at(kPrompt - 1));
      CHECK(talker.prefill(embeds.data(), 1, 0) == 1 && is_at(0));
      talker.reset();
      CHECK(talker.length() == 0);
      CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix) == kPrompt - kPrefix && is_at(kPrompt - 1));
      // The ones that were not used for longest are forgotten.
      for (std::size_t i = 0; i < kazeia::PrefixCache<kazeia::DecoderState>::kMax; ++i) {
        changed[5] += 1.0F;
        CHECK(talker.prefill(changed.data(), kPrompt, kPrefix) == kPrompt);
      }
      CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix) == kPrompt && is_at(kPrompt - 1));
    }
  }
}

/// Sequences of different prompts and lengths that begin, go on and end at different times get the bits that each gets
/// alone.
void test_side_by_side(Isa isa) {
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  constexpr std::size_t kSequences = NativeTalker::kMaxSequences;
  const std::size_t n_embd = odd_shape().hidden;
  for (const auto& pair : kazeia_test::kOddPairs) {
    const OddWeights weights(pair[0], pair[1]);
    const NativeTalkerModel model(odd_shape(), kOddVocab, weights.tensors());
    for (bool kv_f32 : {false, true}) {
      std::vector<float> embeds[kSequences];
      std::vector<std::vector<float>> want[kSequences];  // after the prompt, and after each position
      for (std::size_t s = 0; s < kSequences; ++s) {
        embeds[s] = kazeia_test::Random(static_cast<std::uint32_t>(20 + s)).values(kPositions * n_embd);
        ThreadTeam team(1);
        NativeTalker alone(model, team, kPositions, kv_f32);
        alone.prefill(embeds[s].data(), kPrefix + 1 + s, kPrefix);
        want[s].push_back(last(alone));
        for (std::size_t i = kPrefix + 1 + s; i < kPositions; ++i) {
          alone.decode(embeds[s].data() + i * n_embd);
          want[s].push_back(last(alone));
        }
      }
      for (unsigned n_threads : {1U, 2U, 3U}) {
        ThreadTeam team(n_threads);
        NativeTalker talker(model, team, kPositions, kv_f32);
        for (std::size_t s = 1; s < kSequences; ++s) talker.reserve(s, kPrompt);
        std::vector<std::size_t> running;
        std::size_t done[kSequences] = {};  // positions after the prompt
        bool right = true;
        const auto is = [&](std::size_t i, std::size_t s) {
          const std::vector<float>& figures = want[s][done[s]];
          return kazeia_test::same(talker.hidden(i), figures.data(), n_embd) &&
                 kazeia_test::same(talker.logits(i), figures.data() + n_embd, kOddVocab);
        };
        std::vector<float> next(kSequences * n_embd);
        for (std::size_t round = 0; round < 24; ++round) {
          // One more begins every third round, at the front or at the back; one that is done begins again.
          if (round % 3 == 0 && running.size() < kSequences) {
            std::size_t s = 0;
            while (std::find(running.begin(), running.end(), s) != running.end()) ++s;
            talker.prefill(embeds[s].data(), kPrefix + 1 + s, kPrefix, s);
            done[s] = 0;
            right = right && is(0, s);
            running.insert(round % 2 == 0 ? running.begin() : running.end(), s);
          }
          for (std::size_t i = 0; i < running.size(); ++i) {
            const std::size_t s = running[i];
            std::memcpy(next.data() + i * n_embd, embeds[s].data() + (kPrefix + 1 + s + done[s]) * n_embd,
                        n_embd * sizeof(float));
          }
          talker.decode(running.data(), running.size(), next.data());
          for (std::size_t i = 0; i < running.size(); ++i) {
            ++done[running[i]];
            right = right && is(i, running[i]);
          }
          running.erase(std::remove_if(running.begin(), running.end(), [&](std::size_t s) { return done[s] == 5 + s; }),
                        running.end());
        }
        CHECK(right);
      }
    }
  }
}

template <class Error, class Call>
bool throws(const std::string& named, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()).find(named) != std::string::npos;
  }
  return false;
}

void test_refused() {
  const OddWeights weights(WeightType::f32, WeightType::q8_0);
  const NativeTalkerModel model(odd_shape(), kOddVocab, weights.tensors());
  ThreadTeam team(2);
  NativeTalker talker(model, team, kPrompt, true);
  const std::vector<float> embeds = embeddings();
  CHECK(throws<std::length_error>("longer than 23", [&] { talker.prefill(embeds.data(), kPrompt + 1, 0); }));
  CHECK(throws<std::length_error>("", [&] { talker.prefill(embeds.data(), 0, 0); }));
  CHECK(throws<std::length_error>("", [&] { talker.prefill(embeds.data(), 3, 3); }));
  talker.prefill(embeds.data(), kPrompt, 2);
  const std::vector<float> before = last(talker);
  CHECK(throws<std::length_error>("longer", [&] { talker.decode(embeds.data()); }));
  CHECK(talker.length() == kPrompt && equal(last(talker), before));

  // Further sequences: none without room, no number twice, none that is too long; then nothing is appended.
  const std::size_t both[2] = {0, 1};
  const std::size_t twice[2] = {1, 1};
  talker.prefill(embeds.data(), 3, 2);
  CHECK(throws<std::out_of_range>("sequence 1", [&] { talker.prefill(embeds.data(), 3, 1, 1); }));
  CHECK(throws<std::out_of_range>("sequence 1", [&] { talker.decode(both, 2, embeds.data()); }));
  CHECK(throws<std::out_of_range>("", [&] { talker.reserve(0, 3); }));
  CHECK(throws<std::out_of_range>("", [&] { talker.reserve(NativeTalker::kMaxSequences, 3); }));
  CHECK(throws<std::length_error>("", [&] { talker.reserve(1, kPrompt + 1); }));
  talker.reserve(1, 4);
  CHECK(throws<std::length_error>("longer than 4", [&] { talker.prefill(embeds.data(), 5, 1, 1); }));
  talker.prefill(embeds.data(), 4, 1, 1);
  CHECK(throws<std::length_error>("longer than 4", [&] { talker.decode(both, 2, embeds.data()); }));
  CHECK(throws<std::invalid_argument>("", [&] { talker.decode(both, 0, embeds.data()); }));
  CHECK(talker.length() == 3);
  talker.reserve(1, 3);  // there is enough
  CHECK(throws<std::length_error>("longer than 4", [&] { talker.decode(twice, 1, embeds.data()); }));
  talker.reserve(1, 6);
  talker.prefill(embeds.data(), 4, 1, 1);
  CHECK(throws<std::invalid_argument>("twice", [&] { talker.decode(twice, 2, embeds.data()); }));
  talker.decode(both, 2, embeds.data());
  CHECK(talker.length() == 4);
  talker.cancel();
  CHECK(throws<Stopped>("cancelled", [&] { talker.decode(both, 2, embeds.data()); }));
  CHECK(talker.length() == 0);

  for (const char* name : {"output.weight", "output_norm.weight", "blk.1.ffn_down.weight"}) {
    kazeia::TensorMap tensors = weights.tensors();
    tensors.erase(name);
    CHECK(throws<std::invalid_argument>(name, [&] { const NativeTalkerModel m(odd_shape(), kOddVocab, tensors); }));
  }
  CHECK(throws<std::invalid_argument>(
      "output.weight", [&] { const NativeTalkerModel m(odd_shape(), kOddVocab + 8, weights.tensors()); }));
}

/// cancel() from another thread ends the call under way, and all later ones until resume().
void test_cancel() {
  const OddWeights weights(WeightType::q8_0, WeightType::q8_0);
  const NativeTalkerModel model(odd_shape(), kOddVocab, weights.tensors());
  ThreadTeam team(2);
  NativeTalker talker(model, team, kPositions, true);
  const std::vector<float> embeds = embeddings();
  talker.prefill(embeds.data(), kPrompt, kPrefix);
  const std::vector<float> want = last(talker);

  std::atomic<int> rounds{0};
  bool stopped = false;
  std::thread speaker([&] {
    try {
      while (true) {
        talker.prefill(embeds.data(), kPrompt, kPrefix);
        rounds.fetch_add(1);
      }
    } catch (const Stopped&) {
      stopped = true;
    }
  });
  while (rounds.load() < 3) std::this_thread::yield();
  talker.cancel();
  speaker.join();
  CHECK(stopped && talker.length() == 0);
  CHECK(throws<Stopped>("cancelled", [&] { talker.decode(embeds.data()); }));
  CHECK(throws<Stopped>("cancelled", [&] { talker.prefill(embeds.data(), kPrompt, kPrefix); }));
  talker.resume();
  CHECK(talker.prefill(embeds.data(), kPrompt, kPrefix) == kPrompt - kPrefix && equal(last(talker), want));
}

}  // namespace

int main() {
  kazeia_test::each_isa(test_isa);
  kazeia_test::each_isa(test_side_by_side);
  test_refused();
  test_cancel();
  return kazeia_test::summary();
}
