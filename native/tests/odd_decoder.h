// A decoder of odd dimensions with random weights.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "each_isa.h"
#include "kazeia/decoder.h"

namespace kazeia_test {

inline constexpr std::size_t kOddVocab = 72;

/// More query heads than key-value heads, and fewer of these than threads; no power of two.
inline kazeia::DecoderShape odd_shape() {
  kazeia::DecoderShape shape;
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

/// kazeia_test::Random weights of that shape, and output.weight with kOddVocab rows. Types are mixed as in files where
/// layers' parts differ.
class OddWeights {
 public:
  OddWeights(kazeia::WeightType attention, kazeia::WeightType feed_forward) {
    const kazeia::DecoderShape s = odd_shape();
    for (std::size_t layer = 0; layer < s.n_layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      const auto add = [&](const char* name, kazeia::WeightType type, std::size_t rows, std::size_t cols) {
        put(prefix + name + ".weight", type, rows, cols);
      };
      const std::size_t q_dim = s.n_heads * s.head_dim;
      const std::size_t kv_dim = s.n_kv_heads * s.head_dim;
      add("attn_norm", kazeia::WeightType::f32, 1, s.hidden);
      add("attn_q_norm", kazeia::WeightType::f32, 1, s.head_dim);
      add("attn_k_norm", kazeia::WeightType::f32, 1, s.head_dim);
      add("ffn_norm", kazeia::WeightType::f32, 1, s.hidden);
      add("attn_q", attention, q_dim, s.hidden);
      add("attn_k", attention, kv_dim, s.hidden);
      add("attn_v", feed_forward, kv_dim, s.hidden);  // as mixed files have it
      add("attn_output", attention, s.hidden, q_dim);
      add("ffn_gate", feed_forward, s.ffn, s.hidden);
      add("ffn_up", attention, s.ffn, s.hidden);
      add("ffn_down", feed_forward, s.hidden, s.ffn);
    }
    put("output_norm.weight", kazeia::WeightType::f32, 1, s.hidden);
    put("output.weight", feed_forward, kOddVocab, s.hidden);
  }

  [[nodiscard]] const kazeia::TensorMap& tensors() const { return tensors_; }

 private:
  void put(const std::string& name, kazeia::WeightType type, std::size_t rows, std::size_t cols) {
    std::vector<std::byte>& bytes = memory_.emplace_back(rows * kazeia::row_bytes(type, cols));
    if (type == kazeia::WeightType::f32) {
      const std::vector<float> values = random_.values(rows * cols, rows == 1 ? 1.0F : 0.15F);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    } else {
      for (auto& byte : bytes) byte = static_cast<std::byte>(random_.bits() >> 9U);
      const std::size_t step = type == kazeia::WeightType::f16 ? 2 : kazeia::row_bytes(type, kazeia::kBlock);
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        // The exponent of a scale or value: 2^-9 for a quantised block, 2^-4 for a value.
        bytes[at + 1] &= static_cast<std::byte>(0x83);
        bytes[at + 1] |= static_cast<std::byte>(type == kazeia::WeightType::f16 ? 11U << 2U : 6U << 2U);
      }
    }
    tensors_[name] = {bytes.data(), bytes.size(), type, rows, cols};
  }

  Random random_{1};
  std::deque<std::vector<std::byte>> memory_;
  kazeia::TensorMap tensors_;
};

/// Types of attention and feed-forward that are tried together.
inline constexpr kazeia::WeightType kOddPairs[][2] = {{kazeia::WeightType::f32, kazeia::WeightType::f32},
                                                      {kazeia::WeightType::f16, kazeia::WeightType::q8_0},
                                                      {kazeia::WeightType::q8_0, kazeia::WeightType::q4_0},
                                                      {kazeia::WeightType::q4_0, kazeia::WeightType::f32}};

}  // namespace kazeia_test
