#include "kazeia/code_predictor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace kazeia {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ns_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

}  // namespace

CodePredictorModel::CodePredictorModel(const CodePredictorShape& shape, const TensorMap& tensors)
    : shape_(shape), decoder_(shape.decoder, tensors) {
  if (shape.n_codebooks == 0 || shape.talker_hidden == 0 || shape.talker_hidden % kBlock != 0 || shape.vocab == 0 ||
      shape.vocab % kPanelRows != 0) {
    throw std::invalid_argument("the code predictor's dimensions do not fit together");
  }
  for (std::size_t i = 0; i <= shape.n_codebooks; ++i) {
    const std::string number = std::to_string(i);
    embeddings_.push_back(require(tensors, "codec_embd." + number + ".weight",
                                  i == 0 ? shape.talker_vocab : shape.vocab, shape.talker_hidden));
    if (i > 0) heads_.emplace_back(require(tensors, "head." + number + ".weight", shape.vocab, shape.decoder.hidden));
  }
  if (tensors.count("input_proj.weight") != 0) {
    projection_ = PackedMatrix(require(tensors, "input_proj.weight", shape.decoder.hidden, shape.talker_hidden));
    projection_bias_ = require_vector(tensors, "input_proj.bias", shape.decoder.hidden);
  } else if (shape.decoder.hidden != shape.talker_hidden) {
    throw std::invalid_argument("tensor input_proj.weight is missing");
  }
}

void CodePredictorModel::embedding(std::size_t codebook, std::int32_t code, float* out) const {
  const MatrixView& table = embeddings_.at(codebook);
  if (code < 0 || static_cast<std::size_t>(code) >= table.rows) {
    throw std::out_of_range("code " + std::to_string(code) + " is none of codebook " + std::to_string(codebook));
  }
  dequantize_row(table, static_cast<std::size_t>(code), out);
}

std::size_t CodePredictorModel::n_bytes_per_frame() const {
  std::size_t total = decoder_.n_bytes() * shape_.n_codebooks;
  for (const PackedMatrix& head : heads_) total += head.n_bytes();
  return total;
}

CodePredictor::CodePredictor(const CodePredictorModel& model, ThreadTeam& team)
    : model_(model),
      team_(team),
      decoder_(model.decoder(), team, model.shape().n_codebooks + 1),
      incoming_(2 * model.shape().talker_hidden),
      logits_(model.shape().vocab),
      row_(model.shape().talker_hidden) {
  const std::size_t largest = std::max(model.shape().talker_hidden, model.shape().decoder.hidden);
  for (unsigned worker = 0; worker < team.size(); ++worker) rounded_.emplace_back(largest);
}

// incoming_[0] and [1] hold n vectors of the talker's width; they go to the decoder's input.
void CodePredictor::project(const float* in, float* out, unsigned worker) {
  const CodePredictorShape& shape = model_.shape();
  if (!model_.has_projection()) {
    if (worker == 0) std::memcpy(out, in, shape.talker_hidden * sizeof(float));
    return;
  }
  const auto panels = team_.share(model_.projection().n_panels(), worker);
  rounded_[worker].multiply(model_.projection(), in, 1, panels.begin, panels.end, out, shape.decoder.hidden);
  for (std::size_t i = panels.begin * kPanelRows; i < panels.end * kPanelRows; ++i) {
    out[i] += model_.projection_bias()[i];
  }
}

bool CodePredictor::predict(const float* hidden, std::int32_t code0, const SamplerOptions& options, Pcg32& random,
                            std::int32_t* codes, const std::int32_t* forced, float* logits) {
  const CodePredictorShape& shape = model_.shape();
  std::memcpy(incoming_.data(), hidden, shape.talker_hidden * sizeof(float));
  model_.embedding(0, code0, incoming_.data() + shape.talker_hidden);
  if (forced != nullptr) {
    for (std::size_t i = 0; i + 1 < shape.n_codebooks; ++i) model_.embedding(i + 1, forced[i], row_.data());  // checks
  }
  decoder_.reset();
  bool ok = true;
  Clock::time_point mark = Clock::now();
  const auto account = [&](unsigned worker, std::int64_t CodePredictorTimes::* part) {
    if (worker != 0) return;
    times.*part += ns_since(mark);
    mark = Clock::now();
  };
  team_.run([&](unsigned worker) {
    for (std::size_t step = 0; step < shape.n_codebooks; ++step) {
      const std::size_t n = step == 0 ? 2 : 1;
      for (std::size_t v = 0; v < n; ++v) {
        project(incoming_.data() + v * shape.talker_hidden, decoder_.input() + v * shape.decoder.hidden, worker);
      }
      team_.barrier();
      decoder_.forward(n, worker);
      account(worker, &CodePredictorTimes::layers);
      const PackedMatrix& head = model_.head(step);
      const auto panels = team_.share(head.n_panels(), worker);
      rounded_[worker].multiply(head, decoder_.hidden() + (n - 1) * shape.decoder.hidden, 1, panels.begin, panels.end,
                                logits_.data(), shape.vocab);
      team_.barrier();
      account(worker, &CodePredictorTimes::heads);
      if (worker == 0) {
        if (logits != nullptr) std::copy(logits_.begin(), logits_.end(), logits + step * shape.vocab);
        if (options.repetition_penalty != 1.0F) {
          penalize_repetition(logits_.data(), shape.vocab, codes, step, options.repetition_penalty);
        }
        const std::int32_t code = sampler_.sample(logits_.data(), shape.vocab, options, random);
        ok = ok && code >= 0;
        codes[step] = std::max(code, 0);
        if (step + 1 < shape.n_codebooks) {
          model_.embedding(step + 1, forced != nullptr ? forced[step] : codes[step], incoming_.data());
        }
      }
      account(worker, &CodePredictorTimes::sampling);
      team_.barrier();
    }
  });
  return ok;
}

void CodePredictor::frame_embedding(const std::int32_t* codes, const float* text, float* out) const {
  const std::size_t n = model_.shape().talker_hidden;
  model_.embedding(0, codes[0], out);
  for (std::size_t codebook = 1; codebook <= model_.shape().n_codebooks; ++codebook) {
    model_.embedding(codebook, codes[codebook], row_.data());
    for (std::size_t i = 0; i < n; ++i) out[i] += row_[i];
  }
  if (text == nullptr) return;
  for (std::size_t i = 0; i < n; ++i) out[i] += text[i];
}

}  // namespace kazeia
