// The code predictor of Qwen3-TTS: from the talker's state and codebook 0 to the codes of codebooks 1 to 15.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kazeia/decoder.h"
#include "kazeia/sampler.h"

namespace kazeia {

struct CodePredictorShape {
  DecoderShape decoder;
  std::size_t talker_hidden = 0;  // width of what comes in and of all embeddings
  std::size_t n_codebooks = 0;    // it predicts: 15
  std::size_t vocab = 0;          // of each of them: 2048
  std::size_t talker_vocab = 0;   // rows of codebook 0's embedding: 3072
};

/// Immutable, shareable between threads.
class CodePredictorModel {
 public:
  /// Packs the weights. The embedding tables (codec_embd.N) are read in place: their memory must outlive the model.
  /// Throws std::invalid_argument naming the tensor that does not fit.
  CodePredictorModel(const CodePredictorShape& shape, const TensorMap& tensors);

  [[nodiscard]] const CodePredictorShape& shape() const { return shape_; }
  [[nodiscard]] const DecoderModel& decoder() const { return decoder_; }
  [[nodiscard]] const PackedMatrix& head(std::size_t codebook) const { return heads_[codebook]; }
  [[nodiscard]] bool has_projection() const { return projection_.rows() != 0; }
  [[nodiscard]] const PackedMatrix& projection() const { return projection_; }
  [[nodiscard]] const std::vector<float>& projection_bias() const { return projection_bias_; }
  /// The embedding of a code, [talker_hidden]; codebook 0 to n_codebooks. Throws std::out_of_range.
  void embedding(std::size_t codebook, std::int32_t code, float* out) const;
  /// Bytes of weights that one frame reads.
  [[nodiscard]] std::size_t n_bytes_per_frame() const;

 private:
  CodePredictorShape shape_;
  DecoderModel decoder_;
  std::vector<PackedMatrix> heads_;     // [codebook][vocab][decoder.hidden]
  std::vector<MatrixView> embeddings_;  // [codebook + 1][vocab][talker_hidden]
  PackedMatrix projection_;             // [decoder.hidden][talker_hidden], where the widths differ
  std::vector<float> projection_bias_;
};

/// Where the time of frames went, nanoseconds since the last reset.
struct CodePredictorTimes {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t sampling = 0;
};

/// One frame that is to be predicted. `options` and `random` are of its sequence alone.
struct CodePredictorFrame {
  const float* hidden = nullptr;  // [talker_hidden], the talker's final-normed state
  std::int32_t code0 = 0;         // its token, below talker_vocab
  const SamplerOptions* options = nullptr;
  Pcg32* random = nullptr;
  std::int32_t* codes = nullptr;         // out: [n_codebooks]
  const std::int32_t* forced = nullptr;  // [n_codebooks]: fed instead of what was sampled
  float* logits = nullptr;               // out, where asked for: [n_codebooks][vocab]
  bool finite = true;                    // out: false when a logit is not
};

/// One voice's state. One thread at a time; nothing is allocated per frame, but by the first one.
class CodePredictor {
 public:
  /// Frames of different sequences that are predicted at once.
  static constexpr std::size_t kMaxFrames = 4;

  /// The model and the team must outlive it.
  CodePredictor(const CodePredictorModel& model, ThreadTeam& team);

  /// The codes of codebooks 1 to 15.
  ///
  /// hidden: [talker_hidden], the talker's final-normed state; code0: its token, below talker_vocab.
  /// With `forced` (n_codebooks codes), those are fed instead of what was sampled. With `logits`
  /// ([n_codebooks][vocab]), all are written there.
  /// Returns false when a logit is not finite; throws std::out_of_range on a code that is none.
  bool predict(const float* hidden, std::int32_t code0, const SamplerOptions& options, Pcg32& random,
               std::int32_t* codes, const std::int32_t* forced = nullptr, float* logits = nullptr);

  /// n frames of different sequences, 1 to kMaxFrames, each weight read once for all. What one gets does not depend on
  /// the others. Throws std::out_of_range on a code that is none, and std::invalid_argument on another n.
  void predict(CodePredictorFrame* frames, std::size_t n);

  /// What the talker hears of a frame: the embeddings of its 16 codes, added in order, plus `text` (or nothing
  /// when null). The order matters: another one changes tokens. out: [talker_hidden].
  void frame_embedding(const std::int32_t* codes, const float* text, float* out) const;

  CodePredictorTimes times;

 private:
  void project(std::size_t n, unsigned worker);
  void draw(CodePredictorFrame& frame, std::size_t index, std::size_t step, unsigned worker);

  const CodePredictorModel& model_;
  ThreadTeam& team_;
  Decoder decoder_;
  std::vector<Sequence> sequences_;  // one a frame
  std::vector<Sampler> samplers_;    // one a worker
  std::vector<float> incoming_;      // [2 * kMaxFrames][talker_hidden]
  std::vector<float> logits_;        // [kMaxFrames][vocab]
  std::vector<Rounded> rounded_;     // one a worker
  mutable std::vector<float> row_;   // [talker_hidden]
};

}  // namespace kazeia
