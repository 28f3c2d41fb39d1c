// One frame of the voice at the published small model's size, on random weights, between two marks that
// tools/instruction_counts.py counts instructions between.
//
//   frame_instructions ISA TYPE talker|code_predictor|product N
//
// N sequences at once, 1 to 4. talker: one position after 100, and its logits. code_predictor: 15 codes.
// product: 1024 rows and columns times N vectors, without their rounding.
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "kazeia/code_predictor.h"
#include "kazeia/cpu.h"
#include "kazeia/native_talker.h"
#include "panel_matvec/panel_matvec.h"

#if defined(_MSC_VER)
#define KAZEIA_MARK __declspec(noinline)
#else
#define KAZEIA_MARK __attribute__((noinline))
#endif

namespace {
volatile int mark = 0;  // so that the calls stay where they are
}

extern "C" {
KAZEIA_MARK void kazeia_count_begin() { mark = 1; }
KAZEIA_MARK void kazeia_count_end() { mark = 2; }
}

namespace {

constexpr std::size_t kHidden = 1024;
constexpr std::size_t kPast = 100;

kazeia::DecoderShape shape(std::size_t n_layers) {
  kazeia::DecoderShape s;
  s.hidden = kHidden;
  s.n_layers = n_layers;
  s.n_heads = 16;
  s.n_kv_heads = 8;
  s.head_dim = 128;
  s.ffn = 3072;
  s.rope_theta = 1e6F;
  s.rms_norm_eps = 1e-6F;
  return s;
}

/// Tensors of random weights; those of one size and type share their bytes.
class Weights {
 public:
  explicit Weights(kazeia::WeightType type) : type_(type) {}

  kazeia::MatrixView matrix(std::size_t rows, std::size_t cols) { return view(type_, rows, cols); }
  kazeia::MatrixView vector(std::size_t size) { return view(kazeia::WeightType::f32, 1, size); }

  kazeia::TensorMap decoder(const kazeia::DecoderShape& s) {
    kazeia::TensorMap tensors;
    for (std::size_t layer = 0; layer < s.n_layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      const auto add = [&](const char* name, const kazeia::MatrixView& tensor) {
        tensors[prefix + name + ".weight"] = tensor;
      };
      add("attn_norm", vector(s.hidden));
      add("attn_q_norm", vector(s.head_dim));
      add("attn_k_norm", vector(s.head_dim));
      add("ffn_norm", vector(s.hidden));
      add("attn_q", matrix(s.n_heads * s.head_dim, s.hidden));
      add("attn_k", matrix(s.n_kv_heads * s.head_dim, s.hidden));
      add("attn_v", matrix(s.n_kv_heads * s.head_dim, s.hidden));
      add("attn_output", matrix(s.hidden, s.n_heads * s.head_dim));
      add("ffn_gate", matrix(s.ffn, s.hidden));
      add("ffn_up", matrix(s.ffn, s.hidden));
      add("ffn_down", matrix(s.hidden, s.ffn));
    }
    tensors["output_norm.weight"] = vector(s.hidden);
    return tensors;
  }

 private:
  kazeia::MatrixView view(kazeia::WeightType type, std::size_t rows, std::size_t cols) {
    const std::size_t n_bytes = rows * kazeia::row_bytes(type, cols);
    for (const auto& bytes : memory_) {
      if (bytes.size() == n_bytes) return kazeia::MatrixView{bytes.data(), n_bytes, type, rows, cols};
    }
    std::vector<std::byte>& bytes = memory_.emplace_back(n_bytes);
    const bool plain = type == kazeia::WeightType::f32;
    for (std::size_t i = 0; i + 4 <= n_bytes && plain; i += 4) {
      const float value = (static_cast<float>(next() >> 8U) / 8388608.0F - 1.0F) * 0.05F;
      std::memcpy(bytes.data() + i, &value, sizeof value);
    }
    if (!plain) {
      for (auto& byte : bytes) byte = static_cast<std::byte>(next() >> 24U);
      // Halves and scales below 2^-9: what comes out stays finite.
      const std::size_t step =
          type == kazeia::WeightType::f16 ? sizeof(std::uint16_t) : kazeia::row_bytes(type, kazeia::kBlock);
      for (std::size_t at = 1; at < n_bytes; at += step) bytes[at] = (bytes[at] & std::byte{0x83}) | std::byte{0x14};
    }
    return kazeia::MatrixView{bytes.data(), n_bytes, type, rows, cols};
  }

  std::uint32_t next() { return state_ = state_ * 1664525U + 1013904223U; }

  kazeia::WeightType type_;
  std::uint32_t state_ = 1;
  std::deque<std::vector<std::byte>> memory_;
};

void talker(kazeia::WeightType type, std::size_t n) {
  const kazeia::DecoderShape s = shape(28);
  constexpr std::size_t kVocab = 3072;
  Weights weights(type);
  const kazeia::DecoderModel model(s, weights.decoder(s));
  const kazeia::PackedMatrix head(weights.matrix(kVocab, s.hidden));
  kazeia::ThreadTeam team(1);
  kazeia::Decoder decoder(model, team, kPast + 1, false);
  kazeia::DecoderState past;
  past.length = kPast;
  past.f16.assign(2 * s.n_layers * s.n_kv_heads * kPast * s.head_dim, 0x2C00);  // 1/16
  std::deque<kazeia::Sequence> sequences;
  std::vector<kazeia::Sequence*> owners;
  for (std::size_t v = 0; v < n; ++v) {
    owners.push_back(&sequences.emplace_back(s, kPast + 1, false));
    owners[v]->restore(past);
    for (std::size_t i = 0; i < s.hidden; ++i) {
      decoder.input()[v * s.hidden + i] = static_cast<float>((i + v) % 17) * 0.1F - 0.8F;
    }
  }
  kazeia::Rounded rounded(s.hidden);
  std::vector<float> logits(n * kVocab);
  kazeia_count_begin();
  team.run([&](unsigned worker) {
    decoder.forward(owners.data(), n, worker);
    rounded.multiply(head, decoder.hidden(), n, 0, head.n_panels(), logits.data(), kVocab);
  });
  kazeia_count_end();
  std::printf("logit 0: %g\n", static_cast<double>(logits[0]));
}

void code_predictor(kazeia::WeightType type, std::size_t n) {
  kazeia::CodePredictorShape s;
  s.decoder = shape(5);
  s.talker_hidden = kHidden;
  s.n_codebooks = 15;
  s.vocab = 2048;
  s.talker_vocab = 3072;
  Weights weights(type);
  kazeia::TensorMap tensors = weights.decoder(s.decoder);
  for (std::size_t i = 0; i <= s.n_codebooks; ++i) {
    tensors["codec_embd." + std::to_string(i) + ".weight"] =
        weights.matrix(i == 0 ? s.talker_vocab : s.vocab, s.talker_hidden);
    if (i > 0) tensors["head." + std::to_string(i) + ".weight"] = weights.matrix(s.vocab, s.decoder.hidden);
  }
  const kazeia::CodePredictorModel model(s, tensors);
  kazeia::ThreadTeam team(1);
  kazeia::CodePredictor predictor(model, team);
  const std::vector<float> hidden(s.talker_hidden, 0.5F);
  const std::vector<std::int32_t> forced(s.n_codebooks, 1);
  const kazeia::SamplerOptions options;
  std::vector<std::int32_t> codes(n * s.n_codebooks);
  std::deque<kazeia::Pcg32> random;
  std::vector<kazeia::CodePredictorFrame> frames(n);
  for (std::size_t v = 0; v < n; ++v) {
    frames[v].hidden = hidden.data();
    frames[v].code0 = 1;
    frames[v].options = &options;
    frames[v].random = &random.emplace_back(v);
    frames[v].codes = codes.data() + v * s.n_codebooks;
    frames[v].forced = forced.data();
  }
  predictor.predict(frames.data(), n);  // the first call makes what later ones use
  kazeia_count_begin();
  predictor.predict(frames.data(), n);
  kazeia_count_end();
  std::printf("code 1: %d, finite: %d\n", codes[0], frames[0].finite ? 1 : 0);
}

void product(kazeia::WeightType type, std::size_t n_vectors) {
  Weights weights(type);
  const kazeia::PackedMatrix matrix(weights.matrix(kHidden, kHidden));
  std::vector<float> x(n_vectors * kHidden, 0.5F);
  std::vector<float> y(n_vectors * kHidden);
  kazeia::Rounded rounded(kHidden);
  rounded.multiply(matrix, x.data(), n_vectors, 0, matrix.n_panels(), y.data(), kHidden);
  kazeia_count_begin();
  rounded.multiply(matrix, x.data(), n_vectors, 0, matrix.n_panels(), y.data(), kHidden, true);
  kazeia_count_end();
  std::printf("y 0: %g\n", static_cast<double>(y[0]));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc == 5 ? static_cast<std::size_t>(argv[4][0] - '0') : 0;
  if (n < 1 || n > 4) {
    std::fprintf(stderr, "frame_instructions ISA TYPE talker|code_predictor|product N\n");
    return 2;
  }
  const std::string problem = kazeia::select_isa(argv[1]);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 1;
  }
  const kazeia::WeightType type = kazeia::weight_type(argv[2]);
  const std::string what = argv[3];
  if (what == "talker") talker(type, n);
  if (what == "code_predictor") code_predictor(type, n);
  if (what == "product") product(type, n);
  return 0;
}
