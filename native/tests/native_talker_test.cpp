// The talker on Kazeia's kernels: its calls. That its figures are llama.cpp's is for Python's golden tests.
#include "kazeia/native_talker.h"

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
  test_refused();
  test_cancel();
  return kazeia_test::summary();
}
