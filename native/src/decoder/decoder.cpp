#include "kazeia/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "panel_matvec/panel_matvec.h"
#include "vector_ops/vector_ops.h"

namespace kazeia {

Rounded::Rounded(std::size_t largest)
    : q_(largest * Decoder::kMaxVectors),
      scale_(largest / kBlock * Decoder::kMaxVectors),
      sum_(largest / kBlock * Decoder::kMaxVectors) {}

void Rounded::multiply(const PackedMatrix& matrix, const float* x, std::size_t n_vectors, std::size_t begin,
                       std::size_t end, float* y, std::size_t y_stride, bool again) {
  if (begin == end) return;
  const Isa isa = active_isa();
  const bool quantised = matrix.type() == WeightType::q8_0 || matrix.type() == WeightType::q4_0;
  if (quantised && !again) {
    vector_ops::table(isa).quantize(x, n_vectors * matrix.cols(), q_.data(), scale_.data(), sum_.data());
  }
  const panel_matvec::Function run = panel_matvec::function(matrix.type(), isa);
  const std::size_t cols = matrix.cols();
  // Few panels at a time where there are many vectors: the weights then come from the cache after the first.
  constexpr std::size_t kCacheBytes = std::size_t{128} * 1024;
  const std::size_t panel_bytes = row_bytes(matrix.type(), cols) * kPanelRows;
  const std::size_t some =
      n_vectors <= panel_matvec::kMaxVectors ? end - begin : std::max<std::size_t>(kCacheBytes / panel_bytes, 1);
  for (std::size_t panel = begin; panel < end; panel += some) {
    const std::size_t n_panels = std::min(some, end - panel);
    for (std::size_t v = 0; v < n_vectors; v += panel_matvec::kMaxVectors) {
      panel_matvec::Activations part;
      part.n_vectors = std::min(panel_matvec::kMaxVectors, n_vectors - v);
      part.n_in = cols;
      part.x = x + v * cols;
      part.q = q_.data() + v * cols;
      part.scale = scale_.data() + v * cols / kBlock;
      part.sum = sum_.data() + v * cols / kBlock;
      run(matrix.panel(panel), n_panels, part, y + v * y_stride + panel * kPanelRows, y_stride);
    }
  }
}

Decoder::Scratch::Scratch(const DecoderShape& shape, std::size_t n_positions)
    : norm(kMaxVectors * shape.hidden),
      scores(n_positions),
      rounded(std::max({shape.hidden, shape.ffn, shape.n_heads * shape.head_dim})) {}

Sequence::Sequence(const DecoderShape& shape, std::size_t n_positions, bool kv_f32)
    : n_heads_(shape.n_layers * shape.n_kv_heads),
      head_dim_(shape.head_dim),
      n_positions_(n_positions),
      kv_f32_(kv_f32) {
  const std::size_t size = n_heads_ * n_positions * head_dim_;
  if (kv_f32) {
    keys_.resize(size);
    values_.resize(size);
  } else {
    keys_f16_.resize(size);
    values_f16_.resize(size);
  }
}

DecoderState Sequence::save(std::size_t length) const {
  DecoderState state;
  state.length = std::min(length, length_);
  const std::size_t count = state.length * head_dim_;
  const auto keep = [&](const auto& from, auto& to) {
    for (std::size_t head = 0; head < n_heads_; ++head) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(head * n_positions_ * head_dim_);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    }
  };
  if (kv_f32_) {
    keep(keys_, state.f32);
    keep(values_, state.f32);
  } else {
    keep(keys_f16_, state.f16);
    keep(values_f16_, state.f16);
  }
  return state;
}

void Sequence::restore(const DecoderState& state) {
  const std::size_t count = state.length * head_dim_;
  const auto put = [&](const auto& from, std::size_t at, auto& to) {
    for (std::size_t head = 0; head < n_heads_; ++head) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>((at + head) * count), count,
                  to.begin() + static_cast<std::ptrdiff_t>(head * n_positions_ * head_dim_));
    }
  };
  if (kv_f32_) {
    put(state.f32, 0, keys_);
    put(state.f32, n_heads_, values_);
  } else {
    put(state.f16, 0, keys_f16_);
    put(state.f16, n_heads_, values_f16_);
  }
  length_ = state.length;
}

Decoder::Decoder(const DecoderModel& model, ThreadTeam& team, std::size_t n_positions, bool kv_f32)
    : model_(model), team_(team), own_(model.shape(), n_positions, kv_f32) {
  own_owners_.fill(&own_);
  const DecoderShape& s = model.shape();
  const std::size_t q_dim = s.n_heads * s.head_dim;
  const std::size_t kv_dim = s.n_kv_heads * s.head_dim;
  x_.resize(kMaxVectors * s.hidden);
  queries_.resize(kMaxVectors * q_dim);
  kv_.resize(2 * kMaxVectors * kv_dim);
  attended_.resize(kMaxVectors * q_dim);
  gate_.resize(kMaxVectors * s.ffn);
  up_.resize(kMaxVectors * s.ffn);
  product_.resize(kMaxVectors * s.hidden);
  hidden_.resize(kMaxVectors * s.hidden);
  for (unsigned worker = 0; worker < team.size(); ++worker) scratch_.emplace_back(s, n_positions);

  // In float32 step by step, as PyTorch computes them.
  const std::size_t half = s.head_dim / 2;
  cos_.resize(n_positions * half);
  sin_.resize(n_positions * half);
  for (std::size_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(s.head_dim);
    const float frequency = 1.0F / std::pow(s.rope_theta, exponent);
    for (std::size_t p = 0; p < n_positions; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      cos_[p * half + i] = std::cos(angle);
      sin_[p * half + i] = std::sin(angle);
    }
  }
}

void Decoder::normalize_and_rotate(float* head, const std::vector<float>& weight, std::size_t position) const {
  const DecoderShape& s = model_.shape();
  vector_ops::table(active_isa()).rms_norm(head, weight.data(), s.head_dim, s.rms_norm_eps, head);
  const std::size_t half = s.head_dim / 2;
  const float* cos = cos_.data() + position * half;
  const float* sin = sin_.data() + position * half;
  for (std::size_t i = 0; i < half; ++i) {
    const float a = head[i];
    const float b = head[half + i];
    head[i] = a * cos[i] - b * sin[i];
    head[half + i] = b * cos[i] + a * sin[i];
  }
}

void Decoder::attend(std::size_t layer, std::size_t kv_head, const Place* places, std::size_t n, Scratch& scratch) {
  const DecoderShape& s = model_.shape();
  const DecoderModel::Layer& weights = model_.layers()[layer];
  const vector_ops::Table& ops = vector_ops::table(active_isa());
  const std::size_t q_dim = s.n_heads * s.head_dim;
  const std::size_t kv_dim = s.n_kv_heads * s.head_dim;
  const std::size_t group = s.n_heads / s.n_kv_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim));

  for (std::size_t v = 0; v < n; ++v) {
    Sequence& own = *places[v].sequence;
    const std::size_t at = ((layer * s.n_kv_heads + kv_head) * own.n_positions_ + places[v].position) * s.head_dim;
    float* key = kv_.data() + v * kv_dim + kv_head * s.head_dim;
    const float* value = kv_.data() + (kMaxVectors + v) * kv_dim + kv_head * s.head_dim;
    normalize_and_rotate(key, weights.k_norm, places[v].position);
    if (own.kv_f32_) {
      std::memcpy(own.keys_.data() + at, key, s.head_dim * sizeof(float));
      std::memcpy(own.values_.data() + at, value, s.head_dim * sizeof(float));
    } else {
      ops.to_f16(key, s.head_dim, own.keys_f16_.data() + at);
      ops.to_f16(value, s.head_dim, own.values_f16_.data() + at);
    }
  }
  for (std::size_t v = 0; v < n; ++v) {
    const Sequence& own = *places[v].sequence;
    const std::size_t start = (layer * s.n_kv_heads + kv_head) * own.n_positions_ * s.head_dim;
    const std::size_t n_seen = places[v].position + 1;
    for (std::size_t g = 0; g < group; ++g) {
      const std::size_t at = v * q_dim + (kv_head * group + g) * s.head_dim;
      float* query = queries_.data() + at;
      normalize_and_rotate(query, weights.q_norm, places[v].position);
      for (std::size_t p = 0; p < n_seen; ++p) {
        const std::size_t k = start + p * s.head_dim;
        scratch.scores[p] = scale * (own.kv_f32_ ? ops.dot(query, own.keys_.data() + k, s.head_dim)
                                                 : ops.dot_f16(query, own.keys_f16_.data() + k, s.head_dim));
      }
      ops.softmax(scratch.scores.data(), n_seen);
      float* out = attended_.data() + at;
      std::fill_n(out, s.head_dim, 0.0F);
      for (std::size_t p = 0; p < n_seen; ++p) {
        const std::size_t k = start + p * s.head_dim;
        if (own.kv_f32_) {
          ops.add_scaled(out, scratch.scores[p], own.values_.data() + k, s.head_dim);
        } else {
          ops.add_scaled_f16(out, scratch.scores[p], own.values_f16_.data() + k, s.head_dim);
        }
      }
    }
  }
}

// Every worker owns some key-value heads with their queries, from projection to attention, so a layer needs
// four barriers: before the output projection, the feed-forward's two halves, and the next layer. Norms and
// rounding are done by every worker for itself: that costs less than a barrier.
void Decoder::forward(Sequence* const* owners, std::size_t n, unsigned worker) {
  const DecoderShape& s = model_.shape();
  const vector_ops::Table& ops = vector_ops::table(active_isa());
  Scratch& scratch = scratch_[worker];
  const std::size_t q_dim = s.n_heads * s.head_dim;
  const std::size_t kv_dim = s.n_kv_heads * s.head_dim;
  const std::size_t head_panels = s.head_dim / kPanelRows;
  const std::size_t group = s.n_heads / s.n_kv_heads;
  const auto heads = team_.share(s.n_kv_heads, worker);
  const auto hidden_panels = team_.share(s.hidden / kPanelRows, worker);
  const auto ffn_panels = team_.share(s.ffn / kPanelRows, worker);
  std::array<Place, kMaxVectors> places{};
  for (std::size_t v = 0; v < n; ++v) {
    places[v] = {owners[v], owners[v]->length() + static_cast<std::size_t>(std::count(owners, owners + v, owners[v]))};
  }
  const auto norm = [&](const std::vector<float>& weight, float* out) {
    for (std::size_t v = 0; v < n; ++v) {
      ops.rms_norm(x_.data() + v * s.hidden, weight.data(), s.hidden, s.rms_norm_eps, out + v * s.hidden);
    }
  };
  const auto add_product = [&] {
    const std::size_t begin = hidden_panels.begin * kPanelRows;
    const std::size_t end = hidden_panels.end * kPanelRows;
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t i = begin; i < end; ++i) x_[v * s.hidden + i] += product_[v * s.hidden + i];
    }
  };

  for (std::size_t index = 0; index < s.n_layers; ++index) {
    const DecoderModel::Layer& layer = model_.layers()[index];
    norm(layer.attn_norm, scratch.norm.data());
    const auto project = [&](const PackedMatrix& matrix, std::size_t per_head, float* y, std::size_t stride,
                             bool again) {
      scratch.rounded.multiply(matrix, scratch.norm.data(), n, heads.begin * per_head, heads.end * per_head, y, stride,
                               again && matrix.type() == layer.q.type());
    };
    project(layer.q, group * head_panels, queries_.data(), q_dim, false);
    project(layer.k, head_panels, kv_.data(), kv_dim, true);
    project(layer.v, head_panels, kv_.data() + kMaxVectors * kv_dim, kv_dim, true);
    for (std::size_t head = heads.begin; head < heads.end; ++head) attend(index, head, places.data(), n, scratch);
    team_.barrier();
    scratch.rounded.multiply(layer.output, attended_.data(), n, hidden_panels.begin, hidden_panels.end, product_.data(),
                             s.hidden);
    add_product();
    team_.barrier();
    norm(layer.ffn_norm, scratch.norm.data());
    scratch.rounded.multiply(layer.gate, scratch.norm.data(), n, ffn_panels.begin, ffn_panels.end, gate_.data(), s.ffn);
    scratch.rounded.multiply(layer.up, scratch.norm.data(), n, ffn_panels.begin, ffn_panels.end, up_.data(), s.ffn,
                             layer.up.type() == layer.gate.type());
    for (std::size_t v = 0; v < n; ++v) {
      const std::size_t at = v * s.ffn + ffn_panels.begin * kPanelRows;
      ops.silu_mul(gate_.data() + at, up_.data() + at, (ffn_panels.end - ffn_panels.begin) * kPanelRows,
                   gate_.data() + at);
    }
    team_.barrier();
    scratch.rounded.multiply(layer.down, gate_.data(), n, hidden_panels.begin, hidden_panels.end, product_.data(),
                             s.hidden);
    add_product();
    team_.barrier();
  }
  for (std::size_t v = worker; v < n; v += team_.size()) {
    ops.rms_norm(x_.data() + v * s.hidden, model_.output_norm().data(), s.hidden, s.rms_norm_eps,
                 hidden_.data() + v * s.hidden);
  }
  if (worker == 0) {
    for (std::size_t v = 0; v < n; ++v) ++owners[v]->length_;
  }
  team_.barrier();
}

}  // namespace kazeia
