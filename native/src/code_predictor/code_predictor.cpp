#include "kazeia/code_predictor.h"

#include <algorithm>
#include <array>
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
      sequences_(kMaxFrames, Sequence(model.decoder().shape(), model.shape().n_codebooks + 1, true)),
      samplers_(team.size()),
      incoming_(2 * kMaxFrames * model.shape().talker_hidden),
      logits_(kMaxFrames * model.shape().vocab),
      row_(model.shape().talker_hidden) {
  const std::size_t largest = std::max(model.shape().talker_hidden, model.shape().decoder.hidden);
  for (unsigned worker = 0; worker < team.size(); ++worker) rounded_.emplace_back(largest);
}

// incoming_ holds n vectors of the talker's width; they go to the decoder's input.
void CodePredictor::project(std::size_t n, unsigned worker) {
  const CodePredictorShape& shape = model_.shape();
  float* out = decoder_.input();
  if (!model_.has_projection()) {
    if (worker == 0) std::memcpy(out, incoming_.data(), n * shape.talker_hidden * sizeof(float));
    return;
  }
  const auto panels = team_.share(model_.projection().n_panels(), worker);
  const std::size_t hidden = shape.decoder.hidden;
  rounded_[worker].multiply(model_.projection(), incoming_.data(), n, panels.begin, panels.end, out, hidden);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t i = panels.begin * kPanelRows; i < panels.end * kPanelRows; ++i) {
      out[v * hidden + i] += model_.projection_bias()[i];
    }
  }
}

// The code of one frame from its logits, and the embedding that goes in next.
void CodePredictor::draw(CodePredictorFrame& frame, std::size_t index, std::size_t step, unsigned worker) {
  const CodePredictorShape& shape = model_.shape();
  float* logits = logits_.data() + index * shape.vocab;
  if (frame.logits != nullptr) std::copy_n(logits, shape.vocab, frame.logits + step * shape.vocab);
  if (frame.options->repetition_penalty != 1.0F) {
    penalize_repetition(logits, shape.vocab, frame.codes, step, frame.options->repetition_penalty);
  }
  const std::int32_t code = samplers_[worker].sample(logits, shape.vocab, *frame.options, *frame.random);
  frame.finite = frame.finite && code >= 0;
  frame.codes[step] = std::max(code, 0);
  if (step + 1 == shape.n_codebooks) return;
  const std::int32_t fed = frame.forced != nullptr ? frame.forced[step] : frame.codes[step];
  model_.embedding(step + 1, fed, incoming_.data() + index * shape.talker_hidden);
}

bool CodePredictor::predict(const float* hidden, std::int32_t code0, const SamplerOptions& options, Pcg32& random,
                            std::int32_t* codes, const std::int32_t* forced, float* logits) {
  CodePredictorFrame frame{hidden, code0, &options, &random, codes, forced, logits};
  predict(&frame, 1);
  return frame.finite;
}

void CodePredictor::predict(CodePredictorFrame* frames, std::size_t n) {
  const CodePredictorShape& shape = model_.shape();
  if (n == 0 || n > kMaxFrames) throw std::invalid_argument("1 to 4 frames are predicted at once");
  // First the talker's states of all frames, then their tokens: the last position of each is among the last n vectors.
  std::array<Sequence*, 2 * kMaxFrames> owners{};
  for (std::size_t i = 0; i < n; ++i) {
    CodePredictorFrame& frame = frames[i];
    std::memcpy(incoming_.data() + i * shape.talker_hidden, frame.hidden, shape.talker_hidden * sizeof(float));
    model_.embedding(0, frame.code0, incoming_.data() + (n + i) * shape.talker_hidden);
    if (frame.forced != nullptr) {
      for (std::size_t k = 0; k + 1 < shape.n_codebooks; ++k) {
        model_.embedding(k + 1, frame.forced[k], row_.data());  // checks
      }
    }
    frame.finite = true;
    sequences_[i].reset();
    owners[i] = owners[n + i] = &sequences_[i];
  }
  Clock::time_point mark = Clock::now();
  const auto account = [&](unsigned worker, std::int64_t CodePredictorTimes::* part) {
    if (worker != 0) return;
    times.*part += ns_since(mark);
    mark = Clock::now();
  };
  team_.run([&](unsigned worker) {
    for (std::size_t step = 0; step < shape.n_codebooks; ++step) {
      const std::size_t n_vectors = step == 0 ? 2 * n : n;
      project(n_vectors, worker);
      team_.barrier();
      decoder_.forward(owners.data(), n_vectors, worker);
      account(worker, &CodePredictorTimes::layers);
      const PackedMatrix& head = model_.head(step);
      const auto panels = team_.share(head.n_panels(), worker);
      rounded_[worker].multiply(head, decoder_.hidden() + (n_vectors - n) * shape.decoder.hidden, n, panels.begin,
                                panels.end, logits_.data(), shape.vocab);
      team_.barrier();
      account(worker, &CodePredictorTimes::heads);
      for (std::size_t i = worker; i < n; i += team_.size()) draw(frames[i], i, step, worker);
      account(worker, &CodePredictorTimes::sampling);
      team_.barrier();
    }
  });
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
