// The talker of Qwen3-TTS on Kazeia's own kernels: the same calls and figures as TalkerSession, in less time.
#pragma once

#include <atomic>
#include <vector>

#include "kazeia/decoder.h"
#include "kazeia/prefix_cache.h"

namespace kazeia {

/// Immutable, shareable between sessions and threads.
class NativeTalkerModel {
 public:
  /// Packs blk.N.*, output_norm.weight and output.weight ([vocab][hidden]).
  /// Throws std::invalid_argument naming the tensor that does not fit.
  NativeTalkerModel(const DecoderShape& shape, std::size_t vocab, const TensorMap& tensors);

  [[nodiscard]] const DecoderModel& decoder() const { return decoder_; }
  [[nodiscard]] const PackedMatrix& output() const { return output_; }
  /// Bytes of weights that one step reads.
  [[nodiscard]] std::size_t n_bytes() const { return decoder_.n_bytes() + output_.n_bytes(); }

 private:
  DecoderModel decoder_;
  PackedMatrix output_;
};

/// One sequence. One thread at a time, but cancel() may come from any. Keeps the states of prompts'
/// constant beginnings as TalkerSession does.
class NativeTalker {
 public:
  /// The model and the team must outlive it.
  NativeTalker(const NativeTalkerModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32);

  [[nodiscard]] std::size_t n_embd() const { return model_.decoder().shape().hidden; }
  [[nodiscard]] std::size_t n_vocab() const { return model_.output().rows(); }
  [[nodiscard]] std::size_t n_positions() const { return decoder_.n_positions(); }
  [[nodiscard]] std::size_t length() const { return decoder_.length(); }

  /// Forgets the sequence; the kept beginnings stay.
  void reset() { decoder_.reset(); }
  /// As TalkerSession's; throws std::length_error on a sequence that is too long, and Stopped when cancelled.
  std::size_t prefill(const float* embeds, std::size_t n, std::size_t n_prefix);
  void decode(const float* embed);
  [[nodiscard]] const float* hidden() const { return hidden_.data(); }
  [[nodiscard]] const float* logits() const { return logits_.data(); }
  void forward(const float* embeds, std::size_t n, float* hidden, float* logits);

  /// Ends the call under way after the positions in work; it and all later ones throw until resume().
  void cancel() { cancelled_.store(true); }
  void resume() { cancelled_.store(false); }

 private:
  void append(const float* embeds, std::size_t n, float* hidden, float* logits);

  const NativeTalkerModel& model_;
  ThreadTeam& team_;
  Decoder decoder_;
  PrefixCache<DecoderState> prefixes_;
  std::vector<Rounded> rounded_;  // one a worker
  std::vector<float> hidden_;     // [n_embd]
  std::vector<float> logits_;     // [n_vocab]
  std::vector<float> batch_;      // [kMaxVectors][n_vocab]
  std::atomic<bool> cancelled_{false};
};

/// A call was cancelled.
class Stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "cancelled"; }
};

}  // namespace kazeia
