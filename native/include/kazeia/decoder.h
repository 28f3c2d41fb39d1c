// A Qwen3 decoder: what the talker and the code predictor of Qwen3-TTS are made of.
//
// Pre-norm layers with grouped-query attention, RMS norm of queries and keys before RoPE (NeoX pairs), SwiGLU.
// Source: Qwen3 technical report, arXiv:2505.09388; RoPE: arXiv:2104.09864.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kazeia/packed_matrix.h"
#include "kazeia/thread_team.h"
#include "kazeia/zero_memory.h"

namespace kazeia {

struct DecoderShape {
  std::size_t hidden = 0;  // a multiple of 32
  std::size_t n_layers = 0;
  std::size_t n_heads = 0;  // a multiple of n_kv_heads
  std::size_t n_kv_heads = 0;
  std::size_t head_dim = 0;  // a multiple of 32
  std::size_t ffn = 0;       // a multiple of 32
  float rope_theta = 0.0F;
  float rms_norm_eps = 0.0F;
};

/// Tensors by their names in the model's file.
using TensorMap = std::map<std::string, MatrixView>;

/// The tensor, with the shape and type it must have; a vector is a matrix of one row.
/// Throws std::invalid_argument naming it where it is missing, of another shape, or a vector that is not f32.
const MatrixView& require(const TensorMap& tensors, const std::string& name, std::size_t rows, std::size_t cols);
std::vector<float> require_vector(const TensorMap& tensors, const std::string& name, std::size_t size);

/// Immutable weights, shareable between threads and decoders.
class DecoderModel {
 public:
  struct Layer {
    std::vector<float> attn_norm;  // [hidden]
    std::vector<float> q_norm;     // [head_dim]
    std::vector<float> k_norm;     // [head_dim]
    std::vector<float> ffn_norm;   // [hidden]
    PackedMatrix q;                // [n_heads * head_dim][hidden]
    PackedMatrix k;                // [n_kv_heads * head_dim][hidden]
    PackedMatrix v;                // [n_kv_heads * head_dim][hidden]
    PackedMatrix output;           // [hidden][n_heads * head_dim]
    PackedMatrix gate;             // [ffn][hidden]
    PackedMatrix up;               // [ffn][hidden]
    PackedMatrix down;             // [hidden][ffn]
  };

  /// Packs blk.N.* and output_norm.weight. Throws std::invalid_argument naming the tensor that does not fit.
  DecoderModel(const DecoderShape& shape, const TensorMap& tensors);

  [[nodiscard]] const DecoderShape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const std::vector<float>& output_norm() const { return output_norm_; }
  /// Bytes of weights that one step reads.
  [[nodiscard]] std::size_t n_bytes() const;

 private:
  DecoderShape shape_;
  std::vector<Layer> layers_;
  std::vector<float> output_norm_;
};

/// The activations of a matrix product, in the form that its weights' type multiplies. One worker's own.
class Rounded {
 public:
  explicit Rounded(std::size_t largest);
  /// At most Decoder::kMaxVectors vectors.
  /// y[v][row] for the panels [begin, end) of the matrix. x: [n_vectors][cols]. rounds x first unless `again`.
  void multiply(const PackedMatrix& matrix, const float* x, std::size_t n_vectors, std::size_t begin, std::size_t end,
                float* y, std::size_t y_stride, bool again = false);

 private:
  std::vector<std::int16_t> q_;
  std::vector<float> scale_;
  std::vector<std::int32_t> sum_;
};

/// Keys and values of a sequence's first positions, put aside by Sequence::save().
struct DecoderState {
  std::size_t length = 0;
  std::vector<float> f32;          // [2][layer][kv_head][length][head_dim]: keys, then values; where kv_f32
  std::vector<std::uint16_t> f16;  // likewise as binary16, otherwise
};

/// The keys and values of one sequence. Nothing is allocated after the constructor, but by save().
class Sequence {
 public:
  /// n_positions: how long it can get. kv_f32: keys and values in float32, twice the memory of binary16.
  Sequence(const DecoderShape& shape, std::size_t n_positions, bool kv_f32);

  void reset() { length_ = 0; }
  /// Forgets all positions from `length` on.
  void truncate(std::size_t length) { length_ = length < length_ ? length : length_; }
  /// The first `length` positions, at most length().
  [[nodiscard]] DecoderState save(std::size_t length) const;
  /// Becomes the sequence that was saved, by this or another one of the same model and kv_f32.
  void restore(const DecoderState& state);
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::size_t n_positions() const { return n_positions_; }

 private:
  friend class Decoder;

  std::size_t n_heads_;  // of all layers: n_layers * n_kv_heads
  std::size_t head_dim_;
  std::size_t n_positions_;
  std::size_t length_ = 0;
  bool kv_f32_;
  std::vector<float, ZeroMemory<float>> keys_;    // [layer][kv_head][position][head_dim], where kv_f32
  std::vector<float, ZeroMemory<float>> values_;  // likewise
  std::vector<std::uint16_t, ZeroMemory<std::uint16_t>> keys_f16_;    // likewise as binary16, otherwise
  std::vector<std::uint16_t, ZeroMemory<std::uint16_t>> values_f16_;  // likewise
};

/// Steps sequences through the layers, several at once: the buffers of a step, and one sequence of its own. Used by one
/// team at a time; nothing is allocated after the constructor.
class Decoder {
 public:
  static constexpr std::size_t kMaxVectors = 16;

  /// n_positions: of its own sequence, and the longest of all. The model and the team must outlive it.
  Decoder(const DecoderModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32 = true);
  ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Its own sequence.
  [[nodiscard]] Sequence& sequence() { return own_; }
  [[nodiscard]] const Sequence& sequence() const { return own_; }

  /// Where the next positions' embeddings go: [kMaxVectors][hidden], overwritten by forward().
  float* input() { return x_.data(); }

  /// Within team.run(), called by all workers: appends n positions (1 to 16) whose embeddings are in input(), the i-th
  /// to the sequence owners[i]; those of one sequence follow each other. Each weight is read once for every four of
  /// them, and a sequence gets the same bits in any company. After it, hidden() holds their final-normed states, ready
  /// for every worker.
  void forward(Sequence* const* owners, std::size_t n, unsigned worker);
  /// All to its own sequence.
  void forward(std::size_t n, unsigned worker) { forward(own_owners_.data(), n, worker); }
  /// [kMaxVectors][hidden]
  [[nodiscard]] const float* hidden() const { return hidden_.data(); }

 private:
  struct Scratch {
    explicit Scratch(const DecoderShape& shape, std::size_t n_positions);
    std::vector<float> norm;
    std::vector<float> scores;
    Rounded rounded;
  };

  /// A vector of a step: whose it is, and where it stands there.
  struct Place {
    Sequence* sequence = nullptr;
    std::size_t position = 0;
  };

  void attend(std::size_t layer, std::size_t kv_head, const Place* places, std::size_t n, Scratch& scratch);
  void normalize_and_rotate(float* head, const std::vector<float>& weight, std::size_t position) const;

  const DecoderModel& model_;
  ThreadTeam& team_;
  Sequence own_;
  std::array<Sequence*, kMaxVectors> own_owners_{};
  std::vector<float> cos_;  // [position][head_dim / 2]
  std::vector<float> sin_;
  std::vector<float> x_;          // [kMaxVectors][hidden], the residual stream
  std::vector<float> queries_;    // [kMaxVectors][n_heads * head_dim]
  std::vector<float> kv_;         // [2][kMaxVectors][n_kv_heads * head_dim], before they go to their positions
  std::vector<float> attended_;   // [kMaxVectors][n_heads * head_dim]
  std::vector<float> gate_;       // [kMaxVectors][ffn]
  std::vector<float> up_;         // [kMaxVectors][ffn]
  std::vector<float> product_;    // [kMaxVectors][hidden]
  std::vector<float> hidden_;     // [kMaxVectors][hidden]
  std::vector<Scratch> scratch_;  // one a worker
};

}  // namespace kazeia
