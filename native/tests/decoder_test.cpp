// A decoder of odd dimensions: more threads than key-value heads, several positions at once.
// That its figures are right is code_predictor_test's to show.
#include "kazeia/decoder.h"

#include <cmath>
#include <vector>

#include "each_isa.h"

namespace {

using kazeia::Decoder;
using kazeia::DecoderModel;
using kazeia::DecoderShape;
using kazeia::Isa;
using kazeia::TensorMap;
using kazeia::ThreadTeam;
using kazeia::WeightType;
using kazeia_test::Random;

constexpr std::size_t kPositions = 9;

DecoderShape odd_shape() {
  DecoderShape shape;
  shape.hidden = 96;
  shape.n_layers = 2;
  shape.n_heads = 6;
  shape.n_kv_heads = 3;
  shape.head_dim = 32;
  shape.ffn = 160;
  shape.rope_theta = 1e6F;
  shape.rms_norm_eps = 1e-6F;
  return shape;
}

/// Weights of the odd shape; the attention's and the feed-forward's may be of different types.
class Weights {
 public:
  Weights(WeightType attention, WeightType feed_forward) {
    const DecoderShape s = odd_shape();
    for (std::size_t layer = 0; layer < s.n_layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      const auto add = [&](const char* name, WeightType type, std::size_t rows, std::size_t cols) {
        put(prefix + name + ".weight", type, rows, cols);
      };
      const std::size_t q_dim = s.n_heads * s.head_dim;
      const std::size_t kv_dim = s.n_kv_heads * s.head_dim;
      add("attn_norm", WeightType::f32, 1, s.hidden);
      add("attn_q_norm", WeightType::f32, 1, s.head_dim);
      add("attn_k_norm", WeightType::f32, 1, s.head_dim);
      add("ffn_norm", WeightType::f32, 1, s.hidden);
      add("attn_q", attention, q_dim, s.hidden);
      add("attn_k", attention, kv_dim, s.hidden);
      add("attn_v", feed_forward, kv_dim, s.hidden);  // as mixed files have it
      add("attn_output", attention, s.hidden, q_dim);
      add("ffn_gate", feed_forward, s.ffn, s.hidden);
      add("ffn_up", attention, s.ffn, s.hidden);
      add("ffn_down", feed_forward, s.hidden, s.ffn);
    }
    put("output_norm.weight", WeightType::f32, 1, s.hidden);
  }

  [[nodiscard]] const TensorMap& tensors() const { return tensors_; }

 private:
  void put(const std::string& name, WeightType type, std::size_t rows, std::size_t cols) {
    std::vector<std::byte>& bytes = memory_.emplace_back(rows * kazeia::row_bytes(type, cols));
    if (type == WeightType::f32) {
      const std::vector<float> values = random_.values(rows * cols, rows == 1 ? 1.0F : 0.15F);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    } else {
      for (auto& byte : bytes) byte = static_cast<std::byte>(random_.bits() >> 9U);
      const std::size_t step = type == WeightType::f16 ? 2 : kazeia::row_bytes(type, kazeia::kBlock);
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        // The exponent of a scale or value: 2^-9 for a quantised block, 2^-4 for a value.
        bytes[at + 1] &= static_cast<std::byte>(0x83);
        bytes[at + 1] |= static_cast<std::byte>(type == WeightType::f16 ? 11U << 2U : 6U << 2U);
      }
    }
    tensors_[name] = {bytes.data(), bytes.size(), type, rows, cols};
  }

  Random random_{1};
  std::vector<std::vector<std::byte>> memory_;
  TensorMap tensors_;
};

/// Feeds kPositions embeddings, at most `at_once` at a time; their states, one after the other.
std::vector<float> states(Decoder& decoder, ThreadTeam& team, std::size_t at_once) {
  const std::size_t hidden = odd_shape().hidden;
  const std::vector<float> embeddings = Random(2).values(kPositions * hidden);
  std::vector<float> found;
  decoder.reset();
  while (decoder.length() < kPositions) {
    const std::size_t first = decoder.length();
    const std::size_t n = std::min(at_once, kPositions - first);
    std::memcpy(decoder.input(), embeddings.data() + first * hidden, n * hidden * sizeof(float));
    team.run([&](unsigned worker) { decoder.forward(n, worker); });
    CHECK(decoder.length() == first + n);
    found.insert(found.end(), decoder.hidden(), decoder.hidden() + n * hidden);
  }
  return found;
}

void test_isa(Isa isa) {
  CHECK(kazeia::select_isa(kazeia::isa_name(isa)).empty());
  constexpr WeightType kPairs[][2] = {{WeightType::f32, WeightType::f32},
                                      {WeightType::f16, WeightType::q8_0},
                                      {WeightType::q8_0, WeightType::q4_0},
                                      {WeightType::q4_0, WeightType::f32}};
  for (const auto& pair : kPairs) {
    const Weights weights(pair[0], pair[1]);
    const DecoderModel model(odd_shape(), weights.tensors());
    std::vector<float> want;
    for (unsigned n_threads = 1; n_threads <= 5; ++n_threads) {
      ThreadTeam team(n_threads);
      Decoder decoder(model, team, kPositions);
      CHECK(decoder.n_positions() == kPositions && decoder.length() == 0);
      // One by one, in groups, and again after a reset: the same bits, for every number of threads.
      for (std::size_t at_once : {1, 2, 3, 4, 1}) {
        const std::vector<float> found = states(decoder, team, at_once);
        if (want.empty()) want = found;
        CHECK(found.size() == want.size() && kazeia_test::same(found.data(), want.data(), want.size()));
      }
    }
    double square = 0.0;
    for (float v : want) square += static_cast<double>(v) * v;
    CHECK(std::isfinite(square) && square > 0.1 * static_cast<double>(want.size()));
  }
}

}  // namespace

int main() {
  kazeia_test::each_isa(test_isa);
  return kazeia_test::summary();
}
