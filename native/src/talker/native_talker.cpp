#include "kazeia/native_talker.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>

namespace kazeia {

namespace {

using Clock = std::chrono::steady_clock;

/// Adds to the figure at the end of its block, for worker 0 alone.
class Stopwatch {
 public:
  Stopwatch(unsigned worker, std::int64_t& figure) : worker_(worker), figure_(figure) {}
  ~Stopwatch() {
    if (worker_ == 0) figure_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const unsigned worker_;
  std::int64_t& figure_;
  const Clock::time_point start_ = Clock::now();
};

[[noreturn]] void throw_too_long(std::size_t n_positions) {
  throw std::length_error("the utterance is longer than " + std::to_string(n_positions) + " positions");
}

}  // namespace

NativeTalkerModel::NativeTalkerModel(const DecoderShape& shape, std::size_t vocab, const TensorMap& tensors)
    : decoder_(shape, tensors), output_(require(tensors, "output.weight", vocab, shape.hidden)) {}

NativeTalker::NativeTalker(const NativeTalkerModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32)
    : model_(model),
      team_(team),
      decoder_(model.decoder(), team, n_positions, kv_f32),
      kv_f32_(kv_f32),
      hidden_(kMaxSequences * model.decoder().shape().hidden),
      logits_(kMaxSequences * model.output().rows()),
      batch_(Decoder::kMaxVectors * model.output().rows()) {
  for (unsigned worker = 0; worker < team.size(); ++worker) rounded_.emplace_back(n_embd());
}

void NativeTalker::reserve(std::size_t sequence, std::size_t n_positions) {
  if (sequence == 0 || sequence >= kMaxSequences) {
    throw std::out_of_range("there is no further sequence " + std::to_string(sequence));
  }
  if (n_positions > this->n_positions()) throw_too_long(this->n_positions());
  std::unique_ptr<Sequence>& other = others_[sequence];
  if (other != nullptr && other->n_positions() >= n_positions) return;
  other = nullptr;  // before the new one is there: not both at once
  other = std::make_unique<Sequence>(model_.decoder().shape(), n_positions, kv_f32_);
}

Sequence& NativeTalker::at(std::size_t sequence) {
  if (sequence == 0) return decoder_.sequence();
  if (sequence >= kMaxSequences || others_[sequence] == nullptr) {
    throw std::out_of_range("sequence " + std::to_string(sequence) + " has no room");
  }
  return *others_[sequence];
}

void NativeTalker::append(Sequence& sequence, const float* embeds, std::size_t n, float* hidden, float* logits) {
  if (sequence.length() + n > sequence.n_positions()) throw_too_long(sequence.n_positions());
  std::array<Sequence*, Decoder::kMaxVectors> owners{};
  owners.fill(&sequence);
  const PackedMatrix& output = model_.output();
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(Decoder::kMaxVectors, n - done);
    if (cancelled_.load()) {
      sequence.reset();
      throw Stopped();
    }
    const bool all = hidden != nullptr;
    const bool last = done + count == n;
    std::memcpy(decoder_.input(), embeds + done * n_embd(), count * n_embd() * sizeof(float));
    team_.run([&](unsigned worker) {
      {
        const Stopwatch watch(worker, times.layers);
        decoder_.forward(owners.data(), count, worker);
      }
      if (!all && !last) return;
      const Stopwatch watch(worker, times.head);
      // Logits of the last position, or of all where all are asked for.
      const std::size_t first = all ? 0 : count - 1;
      const auto panels = team_.share(output.n_panels(), worker);
      rounded_[worker].multiply(output, decoder_.hidden() + first * n_embd(), count - first, panels.begin, panels.end,
                                batch_.data(), n_vocab());
    });
    done += count;
    if (all) {
      std::memcpy(hidden, decoder_.hidden(), count * n_embd() * sizeof(float));
      std::memcpy(logits, batch_.data(), count * n_vocab() * sizeof(float));
      hidden += count * n_embd();
      logits += count * n_vocab();
    }
    if (last) {
      std::memcpy(hidden_.data(), decoder_.hidden() + (count - 1) * n_embd(), n_embd() * sizeof(float));
      const float* of_last = batch_.data() + (all ? count - 1 : 0) * n_vocab();
      std::memcpy(logits_.data(), of_last, n_vocab() * sizeof(float));
    }
  }
}

std::size_t NativeTalker::prefill(const float* embeds, std::size_t n, std::size_t n_prefix, std::size_t sequence) {
  if (n == 0 || n_prefix >= n) throw std::length_error("a prompt must have positions after its constant beginning");
  Sequence& own = at(sequence);
  if (n > own.n_positions()) throw_too_long(own.n_positions());
  const DecoderState* kept = n_prefix == 0 ? nullptr : prefixes_.find(embeds, n_prefix * n_embd());
  if (kept != nullptr) {
    own.restore(*kept);
  } else {
    own.reset();
    if (n_prefix != 0) {
      append(own, embeds, n_prefix, nullptr, nullptr);
      prefixes_.add(embeds, n_prefix * n_embd(), own.save(n_prefix));
    }
  }
  append(own, embeds + n_prefix * n_embd(), n - n_prefix, nullptr, nullptr);
  return kept != nullptr ? n - n_prefix : n;
}

void NativeTalker::decode(const float* embed) { append(decoder_.sequence(), embed, 1, nullptr, nullptr); }

void NativeTalker::decode(const std::size_t* sequences, std::size_t n, const float* embeds) {
  if (n == 0 || n > kMaxSequences) throw std::invalid_argument("1 to 4 sequences go on side by side");
  std::array<Sequence*, kMaxSequences> owners{};
  for (std::size_t i = 0; i < n; ++i) {
    owners[i] = &at(sequences[i]);
    if (std::find(sequences, sequences + i, sequences[i]) != sequences + i) {
      throw std::invalid_argument("sequence " + std::to_string(sequences[i]) + " is named twice");
    }
    if (owners[i]->length() == owners[i]->n_positions()) throw_too_long(owners[i]->n_positions());
  }
  if (cancelled_.load()) {
    for (std::size_t i = 0; i < n; ++i) owners[i]->reset();
    throw Stopped();
  }
  const PackedMatrix& output = model_.output();
  std::memcpy(decoder_.input(), embeds, n * n_embd() * sizeof(float));
  team_.run([&](unsigned worker) {
    {
      const Stopwatch watch(worker, times.layers);
      decoder_.forward(owners.data(), n, worker);
    }
    const Stopwatch watch(worker, times.head);
    const auto panels = team_.share(output.n_panels(), worker);
    rounded_[worker].multiply(output, decoder_.hidden(), n, panels.begin, panels.end, logits_.data(), n_vocab());
  });
  std::memcpy(hidden_.data(), decoder_.hidden(), n * n_embd() * sizeof(float));
}

void NativeTalker::forward(const float* embeds, std::size_t n, float* hidden, float* logits) {
  reset();
  append(decoder_.sequence(), embeds, n, hidden, logits);
}

}  // namespace kazeia
