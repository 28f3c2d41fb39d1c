#include "kazeia/talker.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace kazeia {
namespace {

constexpr std::size_t kBatch =
    32;  // positions a call: a batch of logits over the whole vocabulary is 0.6 MB a position
constexpr std::size_t kCodecVocab = 3072;  // fixed in llama.cpp's qwen3tts
constexpr std::size_t kPositionAxes = 4;   // M-RoPE's three, with one value, and a fourth that is 0

void init_backend() {
  static std::once_flag once;
  std::call_once(once, [] { llama_backend_init(); });
}

}  // namespace

struct TalkerModel::Handle {
  llama_model* model = nullptr;
  const llama_vocab* vocab = nullptr;
};

TalkerModel::TalkerModel(const std::string& path, bool vocab_only) : handle_(std::make_unique<Handle>()) {
  init_backend();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  // No layers there are not enough: large batches would go to a device that an extra library brought.
  std::array<ggml_backend_dev_t, 1> no_devices{nullptr};
  params.devices = no_devices.data();
  params.vocab_only = vocab_only;
  handle_->model = llama_model_load_from_file(path.c_str(), params);
  if (handle_->model == nullptr) throw TalkerError("llama.cpp cannot load " + path);
  handle_->vocab = llama_model_get_vocab(handle_->model);
}

TalkerModel::~TalkerModel() { llama_model_free(handle_->model); }

std::vector<std::int32_t> TalkerModel::tokenize(const std::string& text, bool special) const {
  std::vector<std::int32_t> tokens(text.size() + 8);
  const auto n_text = static_cast<std::int32_t>(text.size());
  const auto call = [&] {
    return llama_tokenize(handle_->vocab, text.data(), n_text, tokens.data(), static_cast<std::int32_t>(tokens.size()),
                          false, special);
  };
  std::int32_t n = call();
  if (n < 0) {
    tokens.resize(static_cast<std::size_t>(-n));
    n = call();
  }
  if (n < 0) throw TalkerError("the text cannot be cut into tokens");
  tokens.resize(static_cast<std::size_t>(n));
  return tokens;
}

std::size_t TalkerModel::n_embd() const { return static_cast<std::size_t>(llama_model_n_embd(handle_->model)); }

struct TalkerSession::Context {
  llama_context* llama = nullptr;
  // One batch, made once.
  std::vector<llama_pos> positions;
  std::vector<std::int32_t> n_seq;
  std::vector<llama_seq_id> seq_ids;
  std::vector<llama_seq_id*> seq_pointers;
  std::vector<std::int8_t> output;
};

TalkerSession::TalkerSession(const TalkerModel& model, const TalkerOptions& options)
    : context_(std::make_unique<Context>()),
      n_embd_(model.n_embd()),
      n_vocab_(kCodecVocab),
      n_positions_(options.n_positions) {
  const auto vocab = static_cast<std::size_t>(llama_vocab_n_tokens(model.handle().vocab));
  if (vocab <= kCodecVocab) throw TalkerError("the talker's vocabulary has " + std::to_string(vocab) + " tokens");
  first_logit_ = vocab - kCodecVocab;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(options.n_positions);
  params.n_batch = kBatch;
  params.n_ubatch = kBatch;
  params.n_seq_max = 1;
  params.n_threads = options.n_threads;
  params.n_threads_batch = options.n_threads;
  params.embeddings = true;
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  // Flash attention splits the keys by threads from 512 positions: codes would depend on the thread count.
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = options.kv_f32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.type_v = params.type_k;
  params.no_perf = true;
  params.abort_callback = [](void* flag) { return static_cast<std::atomic<bool>*>(flag)->load(); };
  params.abort_callback_data = &cancelled_;
  // llama_init_from_model is not const-correct; it does not change the weights.
  context_->llama = llama_init_from_model(model.handle().model, params);
  if (context_->llama == nullptr) {
    throw TalkerError("llama.cpp cannot make a talker of " + std::to_string(options.n_positions) + " positions");
  }
  hidden_.resize(n_embd_);
  logits_.resize(n_vocab_);
  context_->positions.resize(kBatch * kPositionAxes);
  context_->n_seq.assign(kBatch, 1);
  context_->seq_ids.assign(1, 0);
  context_->seq_pointers.assign(kBatch, context_->seq_ids.data());
  context_->output.resize(kBatch);
}

TalkerSession::~TalkerSession() { llama_free(context_->llama); }

void TalkerSession::reset() {
  llama_memory_clear(llama_get_memory(context_->llama), false);
  length_ = 0;
}

void TalkerSession::set_threads(int n_threads) { llama_set_n_threads(context_->llama, n_threads, n_threads); }

void TalkerSession::append(const float* embeds, std::size_t n, float* hidden, float* logits) {
  if (length_ + n > n_positions_) {
    throw TalkerError("the utterance is longer than " + std::to_string(n_positions_) + " positions");
  }
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(kBatch, n - done);
    for (std::size_t axis = 0; axis < kPositionAxes; ++axis) {
      for (std::size_t i = 0; i < count; ++i) {
        // Section-major: all positions of an axis, then the next axis.
        context_->positions[axis * count + i] = axis + 1 == kPositionAxes ? 0 : static_cast<llama_pos>(length_ + i);
      }
    }
    const bool all = hidden != nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      context_->output[i] = static_cast<std::int8_t>(all || done + i + 1 == n);
    }
    llama_batch batch{};
    batch.n_tokens = static_cast<std::int32_t>(count);
    batch.embd = const_cast<float*>(embeds + done * n_embd_);  // NOLINT: llama.cpp only reads it
    batch.pos = context_->positions.data();
    batch.n_seq_id = context_->n_seq.data();
    batch.seq_id = context_->seq_pointers.data();
    batch.logits = context_->output.data();
    const std::int32_t status = cancelled() ? 2 : llama_decode(context_->llama, batch);
    if (status != 0) {
      reset();
      if (cancelled()) throw TalkerError("cancelled");
      throw TalkerError("llama.cpp's talker failed (" + std::to_string(status) + ")");
    }
    length_ += count;
    done += count;
    const auto copy = [&](std::int32_t index, float* to_hidden, float* to_logits) {
      const float* state = llama_get_embeddings_ith(context_->llama, index);
      const float* all_logits = llama_get_logits_ith(context_->llama, index);
      if (state == nullptr || all_logits == nullptr) throw TalkerError("llama.cpp's talker gave no figures");
      std::memcpy(to_hidden, state, n_embd_ * sizeof(float));
      std::memcpy(to_logits, all_logits + first_logit_, n_vocab_ * sizeof(float));
    };
    if (all) {
      for (std::size_t i = 0; i < count; ++i, hidden += n_embd_, logits += n_vocab_) {
        copy(static_cast<std::int32_t>(i), hidden, logits);
      }
    }
    if (done == n) copy(-1, hidden_.data(), logits_.data());
  }
}

std::size_t TalkerSession::prefill(const float* embeds, std::size_t n, std::size_t n_prefix) {
  if (n == 0 || n_prefix >= n) throw TalkerError("a prompt must have positions after its constant beginning");
  reset();
  llama_context* llama = context_->llama;
  const std::vector<std::uint8_t>* kept = n_prefix == 0 ? nullptr : prefixes_.find(embeds, n_prefix * n_embd_);
  if (kept != nullptr) {
    if (llama_state_seq_set_data(llama, kept->data(), kept->size(), 0) == 0) {
      throw TalkerError("llama.cpp's talker does not take back its own state");
    }
    length_ = n_prefix;
  } else if (n_prefix != 0) {
    append(embeds, n_prefix, nullptr, nullptr);
    std::vector<std::uint8_t> state(llama_state_seq_get_size(llama, 0));
    state.resize(llama_state_seq_get_data(llama, state.data(), state.size(), 0));
    if (state.empty()) throw TalkerError("llama.cpp's talker does not give its state");
    prefixes_.add(embeds, n_prefix * n_embd_, std::move(state));
  }
  append(embeds + n_prefix * n_embd_, n - n_prefix, nullptr, nullptr);
  return kept != nullptr ? n - n_prefix : n;
}

void TalkerSession::decode(const float* embed) { append(embed, 1, nullptr, nullptr); }

void TalkerSession::forward(const float* embeds, std::size_t n, float* hidden, float* logits) {
  reset();
  append(embeds, n, hidden, logits);
}

}  // namespace kazeia
