#include "kazeia/native_talker.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace kazeia {

NativeTalkerModel::NativeTalkerModel(const DecoderShape& shape, std::size_t vocab, const TensorMap& tensors)
    : decoder_(shape, tensors), output_(require(tensors, "output.weight", vocab, shape.hidden)) {}

NativeTalker::NativeTalker(const NativeTalkerModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32)
    : model_(model),
      team_(team),
      decoder_(model.decoder(), team, n_positions, kv_f32),
      hidden_(model.decoder().shape().hidden),
      logits_(model.output().rows()),
      batch_(Decoder::kMaxVectors * model.output().rows()) {
  for (unsigned worker = 0; worker < team.size(); ++worker) rounded_.emplace_back(n_embd());
}

void NativeTalker::append(const float* embeds, std::size_t n, float* hidden, float* logits) {
  if (length() + n > n_positions()) {
    throw std::length_error("the utterance is longer than " + std::to_string(n_positions()) + " positions");
  }
  const PackedMatrix& output = model_.output();
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(Decoder::kMaxVectors, n - done);
    if (cancelled_.load()) {
      reset();
      throw Stopped();
    }
    const bool all = hidden != nullptr;
    const bool last = done + count == n;
    std::memcpy(decoder_.input(), embeds + done * n_embd(), count * n_embd() * sizeof(float));
    team_.run([&](unsigned worker) {
      decoder_.forward(count, worker);
      if (!all && !last) return;
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

std::size_t NativeTalker::prefill(const float* embeds, std::size_t n, std::size_t n_prefix) {
  if (n == 0 || n_prefix >= n) throw std::length_error("a prompt must have positions after its constant beginning");
  const DecoderState* kept = n_prefix == 0 ? nullptr : prefixes_.find(embeds, n_prefix * n_embd());
  if (kept != nullptr) {
    decoder_.restore(*kept);
  } else {
    reset();
    if (n_prefix != 0) {
      append(embeds, n_prefix, nullptr, nullptr);
      prefixes_.add(embeds, n_prefix * n_embd(), decoder_.save(n_prefix));
    }
  }
  append(embeds + n_prefix * n_embd(), n - n_prefix, nullptr, nullptr);
  return kept != nullptr ? n - n_prefix : n;
}

void NativeTalker::decode(const float* embed) { append(embed, 1, nullptr, nullptr); }

void NativeTalker::forward(const float* embeds, std::size_t n, float* hidden, float* logits) {
  reset();
  append(embeds, n, hidden, logits);
}

}  // namespace kazeia
