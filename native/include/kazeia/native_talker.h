// The talker of Qwen3-TTS on Kazeia's own kernels: the same calls and figures as TalkerSession, in less time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
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

/// Nanoseconds of all positions since they were last set to 0.
struct TalkerTimes {
  std::int64_t layers = 0;
  std::int64_t head = 0;
};

/// One sequence, or up to kMaxSequences that go on side by side: each weight is then read once for all. They are
/// told apart by numbers, of which 0 is the one that all calls without a number mean. One thread at a time, but
/// cancel() may come from any. Keeps the states of prompts' constant beginnings as TalkerSession does, for all
/// sequences.
class NativeTalker {
 public:
  static constexpr std::size_t kMaxSequences = 4;

  /// n_positions: of sequence 0, and most of all. The model and the team must outlive it.
  NativeTalker(const NativeTalkerModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32);

  [[nodiscard]] std::size_t n_embd() const { return model_.decoder().shape().hidden; }
  [[nodiscard]] std::size_t n_vocab() const { return model_.output().rows(); }
  [[nodiscard]] std::size_t n_positions() const { return decoder_.sequence().n_positions(); }
  [[nodiscard]] std::size_t length() const { return decoder_.sequence().length(); }

  /// Forgets the sequence; the kept beginnings stay.
  void reset() { decoder_.sequence().reset(); }
  /// Makes room for n_positions in sequence 1 to kMaxSequences - 1, where there is less; what it held is then
  /// forgotten. Nothing else allocates per utterance or frame. Throws std::out_of_range on another number and
  /// std::length_error on more than n_positions().
  void reserve(std::size_t sequence, std::size_t n_positions);
  /// As TalkerSession's; throws std::length_error on a sequence that is too long, std::out_of_range on one that has no
  /// room yet, and Stopped when cancelled.
  std::size_t prefill(const float* embeds, std::size_t n, std::size_t n_prefix, std::size_t sequence = 0);
  void decode(const float* embed);
  /// Appends one position to each of n different sequences; embeds: [n][n_embd]. What the i-th gets does not depend on
  /// the others. Throws as prefill() does, std::invalid_argument on the same sequence twice; then nothing is appended.
  void decode(const std::size_t* sequences, std::size_t n, const float* embeds);
  /// Of the last position, of the i-th sequence of the last call.
  [[nodiscard]] const float* hidden(std::size_t i = 0) const { return hidden_.data() + i * n_embd(); }
  [[nodiscard]] const float* logits(std::size_t i = 0) const { return logits_.data() + i * n_vocab(); }
  void forward(const float* embeds, std::size_t n, float* hidden, float* logits);

  /// Ends the call under way after the positions in work; it and all later ones throw until resume().
  void cancel() { cancelled_.store(true); }
  void resume() { cancelled_.store(false); }

  TalkerTimes times;

 private:
  Sequence& at(std::size_t sequence);
  void append(Sequence& sequence, const float* embeds, std::size_t n, float* hidden, float* logits);

  const NativeTalkerModel& model_;
  ThreadTeam& team_;
  Decoder decoder_;
  const bool kv_f32_;
  std::array<std::unique_ptr<Sequence>, kMaxSequences> others_;  // the first stays null
  PrefixCache<DecoderState> prefixes_;
  std::vector<Rounded> rounded_;  // one a worker
  std::vector<float> hidden_;     // [kMaxSequences][n_embd]
  std::vector<float> logits_;     // [kMaxSequences][n_vocab]
  std::vector<float> batch_;      // [kMaxVectors][n_vocab]
  std::atomic<bool> cancelled_{false};
};

/// A call was cancelled.
class Stopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "cancelled"; }
};

}  // namespace kazeia
