#include <stdexcept>

#include "kazeia/decoder.h"

namespace kazeia {
namespace {

std::string shape_text(std::size_t rows, std::size_t cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

// Far above any model, and their products far below what a size holds.
constexpr std::size_t kMostLayers = 1024;
constexpr std::size_t kMostOfADimension = std::size_t{1} << 20U;

void check(const DecoderShape& s) {
  bool ok = s.n_layers <= kMostLayers;
  for (std::size_t dimension : {s.hidden, s.n_heads, s.n_kv_heads, s.head_dim, s.ffn}) {
    ok = ok && dimension <= kMostOfADimension;
  }
  ok = ok && s.hidden > 0 && s.hidden % kBlock == 0 && s.n_layers > 0 && s.n_kv_heads > 0 && s.n_heads > 0 &&
       s.n_heads % s.n_kv_heads == 0 && s.head_dim > 0 && s.head_dim % kBlock == 0 && s.ffn > 0 &&
       s.ffn % kBlock == 0 && s.rope_theta > 0.0F && s.rms_norm_eps >= 0.0F;
  if (!ok) throw std::invalid_argument("the decoder's dimensions do not fit together");
}

}  // namespace

const MatrixView& require(const TensorMap& tensors, const std::string& name, std::size_t rows, std::size_t cols) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw std::invalid_argument("tensor " + name + " is missing");
  const MatrixView& view = found->second;
  if (view.rows != rows || view.cols != cols) {
    throw std::invalid_argument("tensor " + name + " is " + shape_text(view.rows, view.cols) + ", expected " +
                                shape_text(rows, cols));
  }
  if (view.n_bytes != rows * row_bytes(view.type, cols)) {
    throw std::invalid_argument("tensor " + name + " has " + std::to_string(view.n_bytes) + " bytes");
  }
  return view;
}

std::vector<float> require_vector(const TensorMap& tensors, const std::string& name, std::size_t size) {
  const MatrixView& view = require(tensors, name, 1, size);
  if (view.type != WeightType::f32) throw std::invalid_argument("tensor " + name + " must be f32");
  std::vector<float> values(size);
  dequantize_row(view, 0, values.data());
  return values;
}

DecoderModel::DecoderModel(const DecoderShape& shape, const TensorMap& tensors) : shape_(shape) {
  check(shape);
  const std::size_t q_dim = shape.n_heads * shape.head_dim;
  const std::size_t kv_dim = shape.n_kv_heads * shape.head_dim;
  layers_.reserve(shape.n_layers);
  for (std::size_t i = 0; i < shape.n_layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto matrix = [&](const char* name, std::size_t rows, std::size_t cols) {
      return PackedMatrix(require(tensors, prefix + name + ".weight", rows, cols));
    };
    const auto vector = [&](const char* name, std::size_t size) {
      return require_vector(tensors, prefix + name + ".weight", size);
    };
    Layer layer;
    layer.attn_norm = vector("attn_norm", shape.hidden);
    layer.q_norm = vector("attn_q_norm", shape.head_dim);
    layer.k_norm = vector("attn_k_norm", shape.head_dim);
    layer.ffn_norm = vector("ffn_norm", shape.hidden);
    layer.q = matrix("attn_q", q_dim, shape.hidden);
    layer.k = matrix("attn_k", kv_dim, shape.hidden);
    layer.v = matrix("attn_v", kv_dim, shape.hidden);
    layer.output = matrix("attn_output", shape.hidden, q_dim);
    layer.gate = matrix("ffn_gate", shape.ffn, shape.hidden);
    layer.up = matrix("ffn_up", shape.ffn, shape.hidden);
    layer.down = matrix("ffn_down", shape.hidden, shape.ffn);
    layers_.push_back(std::move(layer));
  }
  output_norm_ = require_vector(tensors, "output_norm.weight", shape.hidden);
}

std::size_t DecoderModel::n_bytes() const {
  std::size_t total = 0;
  for (const Layer& layer : layers_) {
    for (const PackedMatrix* m : {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      total += m->n_bytes();
    }
  }
  return total;
}

}  // namespace kazeia
