// The code predictor against the official package's figures and, with quantised weights, against a float64
// implementation on the same weights. Argument: the directory of `tools/export_native_goldens.py flat`.
#include "kazeia/code_predictor.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "each_isa.h"
#include "golden_set.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc): counts what the program allocates.
void* operator new(std::size_t size) {
  allocations.fetch_add(1);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace {

using kazeia::CodePredictor;
using kazeia::CodePredictorModel;
using kazeia::CodePredictorShape;
using kazeia::Isa;
using kazeia::MatrixView;
using kazeia::Pcg32;
using kazeia::SamplerOptions;
using kazeia::TensorMap;
using kazeia::ThreadTeam;
using kazeia::WeightType;
using kazeia_test::GoldenSet;

constexpr unsigned kMostThreads = 3;
// An emulated processor is slow: sampling, the scalar kernels (Python's golden test gives them all frames) and
// threads that mostly wait for each other, on some frames only.
constexpr std::size_t kFewFrames = 5;
constexpr SamplerOptions kGreedy{0.0F, 0, 1.0F, 1.0F};
constexpr SamplerOptions kUsual{0.9F, 50, 1.0F, 1.05F};

/// A set with its figures.
struct Golden {
  explicit Golden(const std::filesystem::path& folder)
      : set(folder),
        shape(set.shape()),
        hidden(set.figures<float>("hidden")),
        codes(set.figures<std::int32_t>("codes")),
        logits(set.figures<float>("logits")),
        greedy(set.figures<std::int32_t>("greedy")),
        n_frames(hidden.size() / shape.talker_hidden) {}

  [[nodiscard]] const float* state(std::size_t frame) const { return hidden.data() + frame * shape.talker_hidden; }
  [[nodiscard]] const std::int32_t* fed(std::size_t frame) const {
    return codes.data() + frame * (shape.n_codebooks + 1);
  }

  GoldenSet set;
  CodePredictorShape shape;
  std::vector<float> hidden;
  std::vector<std::int32_t> codes;
  std::vector<float> logits;
  std::vector<std::int32_t> greedy;
  std::size_t n_frames;
};

/// What one team makes of a set.
struct Result {
  std::vector<float> logits;  // teacher-forced
  std::vector<std::int32_t> greedy;
  std::vector<std::int32_t> sampled;
};

Result run(const Golden& golden, const CodePredictorModel& model, unsigned n_threads, std::size_t n_frames) {
  const std::size_t n = golden.shape.n_codebooks;
  ThreadTeam team(n_threads);
  CodePredictor predictor(model, team);
  Result result;
  result.logits.resize(n_frames * n * golden.shape.vocab);
  result.greedy.resize(n_frames * n);
  result.sampled.resize(kFewFrames * n);
  std::vector<std::int32_t> ignored(n);
  Pcg32 random(1);
  bool ok = true;
  for (std::size_t frame = 0; frame < n_frames; ++frame) {
    const std::int32_t* fed = golden.fed(frame);
    ok = ok && predictor.predict(golden.state(frame), fed[0], kGreedy, random, ignored.data(), fed + 1,
                                 result.logits.data() + frame * n * golden.shape.vocab);
    ok = ok && predictor.predict(golden.state(frame), fed[0], kGreedy, random, result.greedy.data() + frame * n);
    if (frame >= kFewFrames) continue;
    const long before = allocations.load();
    ok = ok && predictor.predict(golden.state(frame), fed[0], kUsual, random, result.sampled.data() + frame * n);
    // The first frame sizes the sampler's buffers.
    if (frame > 0) CHECK(allocations.load() == before);
  }
  CHECK(ok);
  CHECK(predictor.times.layers > 0 && predictor.times.heads > 0 && predictor.times.sampling > 0);
  return result;
}

void test_figures(const Golden& golden, Isa isa) {
  // All frames with the set that this processor's users get: emulated ones take minutes otherwise.
  CHECK(kazeia::select_isa("").empty());
  const bool best = isa == kazeia::active_isa();
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  const CodePredictorModel model(golden.shape, golden.set.tensors());
  const std::size_t n_frames = best ? golden.n_frames : kFewFrames;
  const Result one = run(golden, model, 1, n_frames);
  float worst = 0.0F;
  for (std::size_t i = 0; i < one.logits.size(); ++i) {
    const float error = std::abs(one.logits[i] - golden.logits[i]);
    worst = error <= worst ? worst : error;  // NaN counts
  }
  std::printf("%-26s %-12s logits within %.2g\n", golden.set.name().c_str(), kazeia::isa_name(isa), worst);
  CHECK(one.logits.size() == n_frames * golden.logits.size() / golden.n_frames && worst <= 1e-3F);
  CHECK(std::equal(one.greedy.begin(), one.greedy.end(), golden.greedy.begin()));
  CHECK(!std::equal(one.sampled.begin(), one.sampled.end(), one.greedy.begin()));
  for (unsigned n_threads = 2; n_threads <= kMostThreads; ++n_threads) {
    const Result more = run(golden, model, n_threads, kFewFrames);
    CHECK(kazeia_test::same(more.logits.data(), one.logits.data(), more.logits.size()));
    CHECK(std::equal(more.greedy.begin(), more.greedy.end(), one.greedy.begin()));
    CHECK(std::equal(more.sampled.begin(), more.sampled.end(), one.sampled.begin()));
  }
}

/// What one frame gets, alone and beside others: logits, codes, and where its generator stands.
struct Answer {
  std::vector<float> logits;
  std::vector<std::int32_t> codes;
  std::uint32_t next = 0;
  bool finite = false;
};

bool equal(const Answer& a, const Answer& b) {
  return kazeia_test::same(a.logits.data(), b.logits.data(), a.logits.size()) && a.codes == b.codes &&
         a.next == b.next && a.finite == b.finite;
}

std::vector<Answer> predict_at_once(const Golden& golden, CodePredictor& predictor,
                                    const std::vector<std::size_t>& which) {
  static const SamplerOptions options[] = {kUsual, kGreedy, {0.7F, 0, 0.9F, 1.0F}};
  std::vector<Answer> answers(which.size());
  std::vector<Pcg32> random;
  random.reserve(which.size());
  std::vector<kazeia::CodePredictorFrame> frames(which.size());
  for (const std::size_t frame : which) random.emplace_back(frame);
  for (std::size_t i = 0; i < which.size(); ++i) {
    answers[i].logits.resize(golden.shape.n_codebooks * golden.shape.vocab);
    answers[i].codes.resize(golden.shape.n_codebooks);
    const std::int32_t* fed = golden.fed(which[i]);
    frames[i] = {golden.state(which[i]),  fed[0],
                 &options[which[i] % 3],  &random[i],
                 answers[i].codes.data(), which[i] == 4 ? fed + 1 : nullptr,
                 answers[i].logits.data()};
  }
  predictor.predict(frames.data(), frames.size());
  for (std::size_t i = 0; i < which.size(); ++i) {
    answers[i].next = random[i].next();
    answers[i].finite = frames[i].finite;
  }
  return answers;
}

/// Frames of several sequences at once: the same bits as alone, in any company, for any number of threads.
void test_at_once(const Golden& golden, Isa isa) {
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  const CodePredictorModel model(golden.shape, golden.set.tensors());
  std::vector<Answer> alone;
  for (unsigned n_threads = 1; n_threads <= kMostThreads; ++n_threads) {
    ThreadTeam team(n_threads);
    CodePredictor predictor(model, team);
    if (alone.empty()) {
      for (std::size_t i = 0; i < kFewFrames; ++i) alone.push_back(predict_at_once(golden, predictor, {i}).front());
    }
    for (const std::vector<std::size_t>& which :
         std::vector<std::vector<std::size_t>>{{0, 1, 2, 3}, {4, 3, 2}, {1, 4}, {3, 0, 4, 1}, {2}}) {
      const std::vector<Answer> together = predict_at_once(golden, predictor, which);
      for (std::size_t i = 0; i < which.size(); ++i) CHECK(together[i].finite && equal(together[i], alone[which[i]]));
    }
    // One that is not finite spoils no other.
    std::vector<float> broken(golden.shape.talker_hidden, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::int32_t> codes(2 * golden.shape.n_codebooks);
    Pcg32 random[2] = {Pcg32(0), Pcg32(0)};
    std::vector<float> logits(alone[0].logits.size());
    kazeia::CodePredictorFrame frames[2] = {{broken.data(), 0, &kGreedy, &random[0], codes.data()},
                                            {golden.state(0), golden.fed(0)[0], &kUsual, &random[1],
                                             codes.data() + golden.shape.n_codebooks, nullptr, logits.data()}};
    predictor.predict(frames, 2);
    CHECK(!frames[0].finite && frames[1].finite);
    CHECK(kazeia_test::same(logits.data(), alone[0].logits.data(), logits.size()));
    for (std::size_t n : {std::size_t{0}, CodePredictor::kMaxFrames + 1}) {
      bool refused = false;
      try {
        predictor.predict(frames, n);
      } catch (const std::invalid_argument&) {
        refused = true;
      }
      CHECK(refused);
    }
  }
}

void test_frame_embedding(const Golden& golden) {
  const CodePredictorModel model(golden.shape, golden.set.tensors());
  ThreadTeam team(1);
  const CodePredictor predictor(model, team);
  const auto text = golden.set.figures<float>("text");
  const auto want = golden.set.figures<float>("frame_embeds");
  std::vector<float> with(text.size());
  std::vector<float> without(text.size());
  bool equal = true;
  for (std::size_t frame = 0; frame < golden.n_frames; ++frame) {
    predictor.frame_embedding(golden.fed(frame), text.data(), with.data());
    predictor.frame_embedding(golden.fed(frame), nullptr, without.data());
    for (std::size_t i = 0; i < text.size(); ++i) {
      equal = equal && with[i] == want[frame * text.size() + i] && with[i] == without[i] + text[i];
    }
  }
  CHECK(equal);
}

/// Whether `call` throws an Error whose words contain `named`.
template <class Error, class Call>
bool throws(const std::string& named, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()).find(named) != std::string::npos;
  }
  return false;
}

/// A refused call and figures that are none leave no trace in the next frame.
void test_bad_input(const Golden& golden) {
  const CodePredictorModel model(golden.shape, golden.set.tensors());
  ThreadTeam team(2);
  CodePredictor predictor(model, team);
  const std::size_t n = golden.shape.n_codebooks;
  std::vector<std::int32_t> codes(n);
  Pcg32 random(1);
  const auto predict = [&](const float* state, std::int32_t code0, const std::int32_t* forced) {
    return predictor.predict(state, code0, kGreedy, random, codes.data(), forced);
  };
  const auto vocab = static_cast<std::int32_t>(golden.shape.vocab);
  for (std::int32_t code : {-1, vocab, std::numeric_limits<std::int32_t>::min()}) {
    CHECK(throws<std::out_of_range>(std::to_string(code), [&] { predict(golden.state(0), code, nullptr); }));
    for (std::size_t at = 0; at + 1 < n; ++at) {
      std::vector<std::int32_t> forced(n, 0);
      forced[at] = code;
      CHECK(throws<std::out_of_range>("codebook " + std::to_string(at + 1),
                                      [&] { predict(golden.state(0), 0, forced.data()); }));
    }
    std::vector<std::int32_t> frame(n + 1, 0);
    frame[n] = code;
    std::vector<float> out(golden.shape.talker_hidden);
    CHECK(throws<std::out_of_range>(std::to_string(code),
                                    [&] { predictor.frame_embedding(frame.data(), nullptr, out.data()); }));
  }
  for (float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> state(golden.state(0), golden.state(1));
    state[3] = odd;
    CHECK(!predict(state.data(), 0, nullptr));
    for (std::int32_t code : codes) CHECK(code >= 0 && code < vocab);
  }
  CHECK(predict(golden.state(0), golden.fed(0)[0], nullptr));
  CHECK(std::equal(codes.begin(), codes.end(), golden.greedy.begin()));
}

/// Each tensor in turn missing, of another shape, of other bytes: named, never used.
void test_bad_tensors(const Golden& golden) {
  const auto refused = [&](const std::string& name, const TensorMap& tensors) {
    return throws<std::invalid_argument>(name, [&] { const CodePredictorModel model(golden.shape, tensors); });
  };
  for (const auto& [name, view] : golden.set.tensors()) {
    // Layers and codebooks are alike: the first layer's and some of the others' stand for all.
    const bool a_codebook = name.rfind("head.", 0) == 0 || name.rfind("codec_embd.", 0) == 0;
    if (name.rfind("blk.1.", 0) == 0 || (a_codebook && name.find("1.") == std::string::npos)) continue;
    TensorMap tensors = golden.set.tensors();
    tensors.erase(name);
    CHECK(refused(name, tensors));
    tensors = golden.set.tensors();
    for (const auto& [rows, cols] :
         {std::pair{view.rows + 8, view.cols}, {view.rows, view.cols + 32}, {0, view.cols}}) {
      MatrixView changed = view;
      changed.rows = rows;
      changed.cols = cols;
      tensors[name] = changed;
      CHECK(refused(name, tensors));
    }
    for (std::size_t n_bytes : {std::size_t{0}, view.n_bytes - 1, view.n_bytes + 1}) {
      tensors[name] = view;
      tensors[name].n_bytes = n_bytes;
      CHECK(refused(name, tensors));
    }
    for (WeightType type : {WeightType::f32, WeightType::f16, WeightType::q8_0, WeightType::q4_0}) {
      if (type == view.type) continue;
      tensors[name] = view;
      tensors[name].type = type;
      CHECK(refused(name, tensors));
      // A matrix may be of any type, a vector of f32 only.
      tensors[name].n_bytes = view.rows * kazeia::row_bytes(type, view.cols);
      if (view.rows == 1) CHECK(refused(name, tensors));
    }
  }
}

void test_bad_shapes(const Golden& golden) {
  using Change = void (*)(CodePredictorShape&);
  constexpr std::size_t kHuge = std::size_t{1} << 61U;
  const Change changes[] = {
      [](CodePredictorShape& s) { s.decoder.hidden = 0; },
      [](CodePredictorShape& s) { s.decoder.hidden += 8; },
      [](CodePredictorShape& s) { s.decoder.n_layers = 0; },
      [](CodePredictorShape& s) { s.decoder.n_layers = kHuge; },
      [](CodePredictorShape& s) {
        s.decoder.n_heads = 3;
        s.decoder.n_kv_heads = 2;
      },
      [](CodePredictorShape& s) { s.decoder.n_kv_heads = 0; },
      // Products that come out as the right ones, modulo 2^64.
      [](CodePredictorShape& s) {
        s.decoder.n_heads += kHuge;
        s.decoder.n_kv_heads += kHuge;
      },
      [](CodePredictorShape& s) { s.decoder.head_dim = 48; },
      [](CodePredictorShape& s) { s.decoder.ffn = kHuge; },
      [](CodePredictorShape& s) { s.decoder.rope_theta = 0.0F; },
      [](CodePredictorShape& s) { s.decoder.rope_theta = std::numeric_limits<float>::quiet_NaN(); },
      [](CodePredictorShape& s) { s.decoder.rms_norm_eps = -1.0F; },
      [](CodePredictorShape& s) { s.n_codebooks = 0; },
      [](CodePredictorShape& s) { s.n_codebooks += 1; },
      [](CodePredictorShape& s) { s.vocab = 0; },
      [](CodePredictorShape& s) { s.vocab = 60; },
      [](CodePredictorShape& s) { s.talker_hidden = 0; },
      [](CodePredictorShape& s) { s.talker_hidden += 16; },
      [](CodePredictorShape& s) { s.talker_vocab = 0; },
  };
  for (const Change change : changes) {
    CodePredictorShape shape = golden.shape;
    change(shape);
    CHECK(throws<std::invalid_argument>("", [&] { const CodePredictorModel model(shape, golden.set.tensors()); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int n_sets = 0;
  if (argc == 2) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
      if (!entry.is_directory()) continue;
      const Golden golden(entry.path());
      kazeia_test::each_isa([&](Isa isa) {
        test_figures(golden, isa);
        test_at_once(golden, isa);
      });
      const std::string name = golden.set.name();
      const std::string type = name.substr(name.rfind('-') + 1);
      if (type == "f32") test_frame_embedding(golden);
      test_bad_input(golden);
      if (type == "q4_0") test_bad_tensors(golden);
      if (type == "q4_0") test_bad_shapes(golden);
      ++n_sets;
    }
  }
  CHECK(n_sets > 0);
  return kazeia_test::summary();
}
