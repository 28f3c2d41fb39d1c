// The talker of Qwen3-TTS through llama.cpp: embeddings in, hidden states and logits out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kazeia/prefix_cache.h"

namespace kazeia {

/// A file that llama.cpp cannot use, or a call that failed; what() is one plain line.
class TalkerError : public std::exception {
 public:
  explicit TalkerError(std::string what) : what_(std::move(what)) {}
  [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// Immutable weights and vocabulary, shareable between sessions and threads.
class TalkerModel {
 public:
  /// Loads a GGUF of architecture qwen3tts, mapped into memory. The file must have been validated: llama.cpp
  /// aborts the process on some malformed ones. vocab_only: the tokenizer alone. Throws TalkerError.
  TalkerModel(const std::string& path, bool vocab_only);
  ~TalkerModel();
  TalkerModel(const TalkerModel&) = delete;
  TalkerModel& operator=(const TalkerModel&) = delete;

  /// Text to tokens, without a beginning token. special: text such as <|im_end|> becomes its token.
  [[nodiscard]] std::vector<std::int32_t> tokenize(const std::string& text, bool special) const;
  [[nodiscard]] std::size_t n_embd() const;

  struct Handle;
  [[nodiscard]] const Handle& handle() const { return *handle_; }

 private:
  std::unique_ptr<Handle> handle_;
};

struct TalkerOptions {
  std::size_t n_positions = 1024;  // prompt and frames; 114,688 bytes each for the 0.6B model at f16
  int n_threads = 2;
  bool kv_f32 = false;  // f16 otherwise
};

/// One sequence. One thread at a time, but cancel() may come from any.
///
/// The states of prompts' constant beginnings are kept, one for each of the voices and languages lately used: a
/// prompt that begins with n_prefix embeddings that began one before computes only the rest. Prefix and rest are always
/// computed apart, so that the figures do not depend on whether the prefix was kept.
class TalkerSession {
 public:
  /// The model must outlive it. Throws TalkerError.
  TalkerSession(const TalkerModel& model, const TalkerOptions& options);
  ~TalkerSession();
  TalkerSession(const TalkerSession&) = delete;
  TalkerSession& operator=(const TalkerSession&) = delete;

  [[nodiscard]] std::size_t n_embd() const { return n_embd_; }
  [[nodiscard]] std::size_t n_vocab() const { return n_vocab_; }  // of the codec: 3072
  [[nodiscard]] std::size_t n_positions() const { return n_positions_; }
  [[nodiscard]] std::size_t length() const { return length_; }

  /// Forgets the sequence; the kept beginnings stay.
  void reset();
  /// Begins a sequence: n x n_embd embeddings, the first n_prefix of which are the constant beginning.
  /// Returns how many positions were computed. Throws TalkerError, Cancelled as TalkerError with cancelled().
  std::size_t prefill(const float* embeds, std::size_t n, std::size_t n_prefix);
  /// Appends one position.
  void decode(const float* embed);
  /// Of the last position; valid until the next call. [n_embd], final-normed.
  [[nodiscard]] const float* hidden() const { return hidden_.data(); }
  /// Of the last position: [n_vocab].
  [[nodiscard]] const float* logits() const { return logits_.data(); }
  /// All n positions of a fresh sequence: hidden [n][n_embd], logits [n][n_vocab].
  void forward(const float* embeds, std::size_t n, float* hidden, float* logits);

  /// Stops a call under way within some milliseconds; it and all later ones throw until resume().
  void cancel() { cancelled_.store(true); }
  void resume() { cancelled_.store(false); }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(); }
  void set_threads(int n_threads);

 private:
  struct Context;
  void append(const float* embeds, std::size_t n, float* hidden, float* logits);

  std::unique_ptr<Context> context_;
  std::size_t n_embd_;
  std::size_t n_vocab_;
  std::size_t first_logit_;  // the codec's logits are the last of the vocabulary
  std::size_t n_positions_;
  std::size_t length_ = 0;
  PrefixCache<std::vector<std::uint8_t>> prefixes_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace kazeia
