// The classes of Kazeia's own voice.
#include "tts.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "kazeia/code_predictor.h"
#include "kazeia/native_talker.h"
#include "kazeia/talker.h"

namespace py = pybind11;

namespace {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;
using IntArray = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

const float* vector_of(const FloatArray& array, std::size_t size, const char* name) {
  if (array.ndim() != 1 || static_cast<std::size_t>(array.shape(0)) != size) {
    throw py::value_error(std::string(name) + " must have shape (" + std::to_string(size) + ",)");
  }
  return array.data();
}

std::size_t rows_of(const FloatArray& array, std::size_t columns, const char* name) {
  if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(1)) != columns || array.shape(0) == 0) {
    throw py::value_error(std::string(name) + " must have shape (n, " + std::to_string(columns) + "), n at least 1");
  }
  return static_cast<std::size_t>(array.shape(0));
}

py::array_t<float> copied(const float* values, std::size_t n) {
  py::array_t<float> array(static_cast<py::ssize_t>(n));
  std::memcpy(array.mutable_data(), values, n * sizeof(float));
  return array;
}

py::array_t<float> matrix(std::size_t rows, std::size_t columns) {
  return py::array_t<float>({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)});
}

kazeia::DecoderShape decoder_shape(const py::dict& values) {
  const auto size = [&](const char* name) { return values[name].cast<std::size_t>(); };
  kazeia::DecoderShape shape;
  shape.hidden = size("hidden");
  shape.n_layers = size("layers");
  shape.n_heads = size("heads");
  shape.n_kv_heads = size("kv_heads");
  shape.head_dim = size("head_dim");
  shape.ffn = size("ffn");
  shape.rope_theta = values["rope_theta"].cast<float>();
  shape.rms_norm_eps = values["rms_norm_eps"].cast<float>();
  return shape;
}

using Bytes = py::array_t<std::uint8_t, py::array::c_style>;

/// (type, rows, cols, uint8 array, whether packed). The array itself, which the view keeps: a converted copy would be
/// gone while it is still read.
kazeia::MatrixView view_of(const py::handle& value) {
  if (!py::isinstance<py::tuple>(value) || (py::len(value) != 4 && py::len(value) != 5)) {
    throw std::invalid_argument("no tuple of four or five");
  }
  const auto parts = py::reinterpret_borrow<py::tuple>(value);
  if (!py::isinstance<Bytes>(parts[3])) throw std::invalid_argument("its bytes are no contiguous array of uint8");
  const auto raw = py::reinterpret_borrow<py::array>(parts[3]);
  kazeia::MatrixView view;
  view.type = kazeia::weight_type(parts[0].cast<std::string>());
  view.rows = parts[1].cast<std::size_t>();
  view.cols = parts[2].cast<std::size_t>();
  view.packed = parts.size() == 5 && parts[4].cast<bool>();
  view.data = static_cast<const std::byte*>(raw.data());
  view.n_bytes = static_cast<std::size_t>(raw.nbytes());
  view.owner = std::shared_ptr<const void>(view.data, [array = raw.inc_ref().ptr()](const void*) {
    const py::gil_scoped_acquire acquire;
    Py_DECREF(array);
  });
  return view;
}

/// Packs a matrix's rows into `out`, which has room for as many bytes.
void pack_into(const std::string& type, std::size_t rows, std::size_t cols, const Bytes& from, Bytes& out) {
  kazeia::MatrixView view;
  view.type = kazeia::weight_type(type);
  view.rows = rows;
  view.cols = cols;
  view.data = reinterpret_cast<const std::byte*>(from.data());
  view.n_bytes = static_cast<std::size_t>(from.nbytes());
  if (out.nbytes() != from.nbytes()) throw py::value_error("packed weights have as many bytes as rows");
  auto* to = reinterpret_cast<std::byte*>(out.mutable_data());
  const py::gil_scoped_release release;
  kazeia::pack(view, to);
}

std::uint64_t checksum(const Bytes& bytes, std::uint64_t seed) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  const auto size = static_cast<std::size_t>(bytes.nbytes());
  const py::gil_scoped_release release;
  return kazeia::checksum(data, size, seed);
}

/// {name: (type, rows, cols, uint8 array, whether packed)}, the last of which may be left out.
kazeia::TensorMap tensor_map(const py::dict& tensors) {
  kazeia::TensorMap views;
  for (const auto& [key, value] : tensors) {
    const auto name = key.cast<std::string>();
    try {
      views[name] = view_of(value);
    } catch (const py::cast_error&) {
      throw py::value_error("tensor " + name + " is no (type, rows, columns, bytes)");
    } catch (const std::invalid_argument& error) {
      throw py::value_error("tensor " + name + ": " + error.what());
    }
  }
  return views;
}

struct PyCodePredictorModel {
  PyCodePredictorModel(const py::dict& shape, std::size_t talker_hidden, std::size_t talker_vocab,
                       const py::dict& given)
      : model(make(shape, talker_hidden, talker_vocab, tensor_map(given))) {}

  static kazeia::CodePredictorModel make(const py::dict& values, std::size_t talker_hidden, std::size_t talker_vocab,
                                         const kazeia::TensorMap& views) {
    kazeia::CodePredictorShape shape;
    shape.decoder = decoder_shape(values);
    shape.talker_hidden = talker_hidden;
    shape.talker_vocab = talker_vocab;
    shape.n_codebooks = values["codebooks"].cast<std::size_t>();
    shape.vocab = values["vocab"].cast<std::size_t>();
    for (const auto& [name, view] : views) {
      if (view.packed && name.rfind("codec_embd.", 0) == 0) {
        throw py::value_error("tensor " + name + " must not be packed: its rows are read one by one");
      }
    }
    const py::gil_scoped_release release;
    return kazeia::CodePredictorModel(shape, views);
  }

  kazeia::CodePredictorModel model;
};

void check_code0(const kazeia::CodePredictorModel& model, std::int32_t code) {
  if (code < 0 || static_cast<std::size_t>(code) >= model.shape().talker_vocab) {
    throw py::value_error("code " + std::to_string(code) + " is none of codebook 0");
  }
}

struct PyCodePredictor {
  PyCodePredictor(std::shared_ptr<PyCodePredictorModel> of, std::shared_ptr<kazeia::ThreadTeam> by)
      : model(std::move(of)), team(std::move(by)), predictor(model->model, *team) {}

  py::object predict(const FloatArray& hidden, std::int32_t code0, const kazeia::SamplerOptions& options,
                     kazeia::Pcg32& random) {
    const kazeia::CodePredictorShape& shape = model->model.shape();
    const float* state = vector_of(hidden, shape.talker_hidden, "hidden");
    check_code0(model->model, code0);
    py::array_t<std::int32_t> codes(static_cast<py::ssize_t>(shape.n_codebooks));
    std::int32_t* out = codes.mutable_data();
    bool ok = false;
    {
      const py::gil_scoped_release release;
      ok = predictor.predict(state, code0, options, random, out);
    }
    if (!ok) throw std::runtime_error("the code predictor's figures are not finite");
    return codes;
  }

  py::array_t<std::int32_t> predict_all(const FloatArray& hidden, const std::vector<std::int32_t>& code0,
                                        const std::vector<const kazeia::SamplerOptions*>& options,
                                        const std::vector<kazeia::Pcg32*>& random) {
    const kazeia::CodePredictorShape& shape = model->model.shape();
    const std::size_t n = rows_of(hidden, shape.talker_hidden, "hidden");
    if (n > kazeia::CodePredictor::kMaxFrames || code0.size() != n || options.size() != n || random.size() != n) {
      throw py::value_error("1 to 4 frames, each with its code, options and generator, are predicted at once");
    }
    py::array_t<std::int32_t> codes({static_cast<py::ssize_t>(n), static_cast<py::ssize_t>(shape.n_codebooks)});
    std::array<kazeia::CodePredictorFrame, kazeia::CodePredictor::kMaxFrames> frames;
    for (std::size_t i = 0; i < n; ++i) {
      check_code0(model->model, code0[i]);
      if (options[i] == nullptr || random[i] == nullptr)
        throw py::value_error("options and generators must not be None");
      frames[i].hidden = hidden.data() + i * shape.talker_hidden;
      frames[i].code0 = code0[i];
      frames[i].options = options[i];
      frames[i].random = random[i];
      frames[i].codes = codes.mutable_data() + i * shape.n_codebooks;
    }
    {
      const py::gil_scoped_release release;
      predictor.predict(frames.data(), n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!frames[i].finite) throw std::runtime_error("the code predictor's figures are not finite");
    }
    return codes;
  }

  py::array_t<float> logits(const FloatArray& hidden, const IntArray& codes) {
    const kazeia::CodePredictorShape& shape = model->model.shape();
    const float* state = vector_of(hidden, shape.talker_hidden, "hidden");
    if (codes.ndim() != 1 || static_cast<std::size_t>(codes.shape(0)) != shape.n_codebooks + 1) {
      throw py::value_error("codes must have shape (" + std::to_string(shape.n_codebooks + 1) + ",)");
    }
    const std::int32_t* given = codes.data();
    check_code0(model->model, given[0]);
    py::array_t<float> found = matrix(shape.n_codebooks, shape.vocab);
    float* out = found.mutable_data();
    std::vector<std::int32_t> greedy(shape.n_codebooks);
    kazeia::SamplerOptions options;
    options.temperature = 0.0F;
    kazeia::Pcg32 random(0);
    const py::gil_scoped_release release;
    predictor.predict(state, given[0], options, random, greedy.data(), given + 1, out);
    return found;
  }

  py::array_t<float> frame_embedding(const IntArray& codes, const py::object& text) {
    const kazeia::CodePredictorShape& shape = model->model.shape();
    if (codes.ndim() != 1 || static_cast<std::size_t>(codes.shape(0)) != shape.n_codebooks + 1) {
      throw py::value_error("codes must have shape (" + std::to_string(shape.n_codebooks + 1) + ",)");
    }
    FloatArray row;
    const float* added = nullptr;
    if (!text.is_none()) {
      row = text.cast<FloatArray>();
      added = vector_of(row, shape.talker_hidden, "text");
    }
    py::array_t<float> found(static_cast<py::ssize_t>(shape.talker_hidden));
    predictor.frame_embedding(codes.data(), added, found.mutable_data());
    return found;
  }

  std::shared_ptr<PyCodePredictorModel> model;
  std::shared_ptr<kazeia::ThreadTeam> team;
  kazeia::CodePredictor predictor;
};

/// Runs a call of a native talker; what it throws becomes a TalkerError.
template <class Call>
void talking(const Call& call) {
  std::string problem;
  {
    const py::gil_scoped_release release;
    try {
      call();
      return;
    } catch (const kazeia::Stopped& error) {
      problem = error.what();
    } catch (const std::length_error& error) {
      problem = error.what();
    }
  }
  throw kazeia::TalkerError(problem);
}

/// Both talkers have the same calls. Session: TalkerSession or NativeTalker; Owner keeps what it needs.
template <class Session, class Owner>
struct PyTalker {
  PyTalker(Owner of, std::unique_ptr<Session> made) : owner(std::move(of)), session(std::move(made)) {}

  py::tuple last() const {
    return py::make_tuple(copied(session->hidden(), session->n_embd()), copied(session->logits(), session->n_vocab()));
  }

  py::tuple prefill(const FloatArray& embeds, std::size_t n_prefix) {
    const std::size_t n = rows_of(embeds, session->n_embd(), "embeds");
    const float* data = embeds.data();
    talking([&] { session->prefill(data, n, n_prefix); });
    return last();
  }

  py::tuple decode(const FloatArray& embed) {
    const float* data = vector_of(embed, session->n_embd(), "embed");
    talking([&] { session->decode(data); });
    return last();
  }

  py::tuple forward(const FloatArray& embeds) {
    const std::size_t n = rows_of(embeds, session->n_embd(), "embeds");
    py::array_t<float> hidden = matrix(n, session->n_embd());
    py::array_t<float> logits = matrix(n, session->n_vocab());
    const float* data = embeds.data();
    float* to_hidden = hidden.mutable_data();
    float* to_logits = logits.mutable_data();
    talking([&] { session->forward(data, n, to_hidden, to_logits); });
    return py::make_tuple(hidden, logits);
  }

  template <class Class>
  static void add_calls(Class& bound) {
    bound.def_property_readonly("n_embd", [](const PyTalker& self) { return self.session->n_embd(); })
        .def_property_readonly("n_vocab", [](const PyTalker& self) { return self.session->n_vocab(); })
        .def_property_readonly("n_positions", [](const PyTalker& self) { return self.session->n_positions(); })
        .def_property_readonly("length", [](const PyTalker& self) { return self.session->length(); })
        .def("reset", [](PyTalker& self) { self.session->reset(); })
        .def("prefill", &PyTalker::prefill, py::arg("embeds"), py::arg("n_prefix") = 0)
        .def("decode", &PyTalker::decode, py::arg("embed"))
        .def("forward", &PyTalker::forward, py::arg("embeds"))
        .def("cancel", [](PyTalker& self) { self.session->cancel(); })
        .def("resume", [](PyTalker& self) { self.session->resume(); });
  }

  Owner owner;
  std::unique_ptr<Session> session;
};

using PyLlamaTalker = PyTalker<kazeia::TalkerSession, std::shared_ptr<kazeia::TalkerModel>>;

std::unique_ptr<PyLlamaTalker> llama_talker(std::shared_ptr<kazeia::TalkerModel> model, std::size_t n_positions,
                                            int n_threads, bool kv_f32) {
  kazeia::TalkerOptions options;
  options.n_positions = n_positions;
  options.n_threads = n_threads;
  options.kv_f32 = kv_f32;
  std::unique_ptr<kazeia::TalkerSession> session;
  {
    const py::gil_scoped_release release;
    session = std::make_unique<kazeia::TalkerSession>(*model, options);
  }
  return std::make_unique<PyLlamaTalker>(std::move(model), std::move(session));
}

struct NativeTalkerOwner {
  std::shared_ptr<kazeia::NativeTalkerModel> model;
  std::shared_ptr<kazeia::ThreadTeam> team;
};

using PyNativeTalker = PyTalker<kazeia::NativeTalker, NativeTalkerOwner>;

std::unique_ptr<PyNativeTalker> native_talker(std::shared_ptr<kazeia::NativeTalkerModel> model,
                                              std::shared_ptr<kazeia::ThreadTeam> team, std::size_t n_positions,
                                              bool kv_f32) {
  auto session = std::make_unique<kazeia::NativeTalker>(*model, *team, n_positions, kv_f32);
  return std::make_unique<PyNativeTalker>(NativeTalkerOwner{std::move(model), std::move(team)}, std::move(session));
}

py::tuple prefill_of(PyNativeTalker& self, const FloatArray& embeds, std::size_t n_prefix, std::size_t sequence) {
  const std::size_t n = rows_of(embeds, self.session->n_embd(), "embeds");
  const float* data = embeds.data();
  talking([&] { self.session->prefill(data, n, n_prefix, sequence); });
  return self.last();
}

py::tuple decode_all(PyNativeTalker& self, const std::vector<std::size_t>& sequences, const FloatArray& embeds) {
  kazeia::NativeTalker& talker = *self.session;
  const std::size_t n = rows_of(embeds, talker.n_embd(), "embeds");
  if (sequences.size() != n) throw py::value_error("embeds must have a row for each sequence");
  const float* data = embeds.data();
  talking([&] { talker.decode(sequences.data(), n, data); });
  py::array_t<float> hidden = matrix(n, talker.n_embd());
  py::array_t<float> logits = matrix(n, talker.n_vocab());
  std::memcpy(hidden.mutable_data(), talker.hidden(), n * talker.n_embd() * sizeof(float));
  std::memcpy(logits.mutable_data(), talker.logits(), n * talker.n_vocab() * sizeof(float));
  return py::make_tuple(hidden, logits);
}

std::int32_t sample(kazeia::Sampler& sampler, const FloatArray& logits, const kazeia::SamplerOptions& options,
                    kazeia::Pcg32& random, const IntArray& history) {
  if (logits.ndim() != 1 || history.ndim() != 1) throw py::value_error("logits and history must have one dimension");
  const auto n = static_cast<std::size_t>(logits.shape(0));
  if (options.repetition_penalty == 1.0F) return sampler.sample(logits.data(), n, options, random);
  std::vector<float> penalized(logits.data(), logits.data() + n);
  kazeia::penalize_repetition(penalized.data(), n, history.data(), static_cast<std::size_t>(history.shape(0)),
                              options.repetition_penalty);
  return sampler.sample(penalized.data(), n, options, random);
}

}  // namespace

void add_tts(py::module_& module) {
  py::register_exception<kazeia::TalkerError>(module, "TalkerError");
  module.attr("PACKED_LAYOUT") = kazeia::kPackedLayout;
  module.attr("PACKED_ALIGNMENT") = kazeia::kPackedAlignment;
  module.def("pack", &pack_into, py::arg("type"), py::arg("rows"), py::arg("cols"), py::arg("bytes").noconvert(),
             py::arg("out").noconvert());
  module.def("checksum", &checksum, py::arg("bytes").noconvert(), py::arg("seed") = 0);
  py::class_<kazeia::ThreadTeam, std::shared_ptr<kazeia::ThreadTeam>>(module, "ThreadTeam")
      .def(py::init<unsigned>(), py::arg("n_threads"))
      .def_property_readonly("n_threads", &kazeia::ThreadTeam::size);
  py::class_<kazeia::Pcg32>(module, "Pcg32")
      .def(py::init<std::uint64_t, std::uint64_t>(), py::arg("seed"), py::arg("stream") = 0)
      .def("next", &kazeia::Pcg32::next)
      .def("next_double", &kazeia::Pcg32::next_double);
  py::class_<kazeia::SamplerOptions>(module, "SamplerOptions")
      .def(py::init([](float temperature, std::size_t top_k, float top_p, float repetition_penalty) {
             return kazeia::SamplerOptions{temperature, top_k, top_p, repetition_penalty};
           }),
           py::arg("temperature"), py::arg("top_k"), py::arg("top_p"), py::arg("repetition_penalty") = 1.0F);
  py::class_<kazeia::Sampler>(module, "Sampler")
      .def(py::init<>())
      .def("sample", &sample, py::arg("logits"), py::arg("options"), py::arg("random"), py::arg("history"));
  py::class_<PyCodePredictorModel, std::shared_ptr<PyCodePredictorModel>>(module, "CodePredictorModel")
      .def(py::init<const py::dict&, std::size_t, std::size_t, const py::dict&>(), py::arg("shape"),
           py::arg("talker_hidden"), py::arg("talker_vocab"), py::arg("tensors"))
      .def_property_readonly("n_bytes_per_frame",
                             [](const PyCodePredictorModel& self) { return self.model.n_bytes_per_frame(); });
  py::class_<PyCodePredictor>(module, "CodePredictor")
      .def(py::init<std::shared_ptr<PyCodePredictorModel>, std::shared_ptr<kazeia::ThreadTeam>>(),
           py::arg("model").none(false), py::arg("team").none(false))
      .def("predict", &PyCodePredictor::predict, py::arg("hidden"), py::arg("code0"), py::arg("options"),
           py::arg("random"))
      .def("predict_all", &PyCodePredictor::predict_all, py::arg("hidden"), py::arg("code0"), py::arg("options"),
           py::arg("random"))
      .def("logits", &PyCodePredictor::logits, py::arg("hidden"), py::arg("codes"))
      .def("frame_embedding", &PyCodePredictor::frame_embedding, py::arg("codes"), py::arg("text"))
      .def("take_times_ns", [](PyCodePredictor& self) {
        const kazeia::CodePredictorTimes times = self.predictor.times;
        self.predictor.times = {};
        return py::make_tuple(times.layers, times.heads, times.sampling);
      });
  py::class_<kazeia::TalkerModel, std::shared_ptr<kazeia::TalkerModel>>(module, "TalkerModel")
      .def(py::init([](const std::string& path, bool vocab_only) {
             const py::gil_scoped_release release;
             return std::make_shared<kazeia::TalkerModel>(path, vocab_only);
           }),
           py::arg("path"), py::arg("vocab_only") = false)
      .def_property_readonly("n_embd", &kazeia::TalkerModel::n_embd)
      .def(
          "tokenize",
          [](const kazeia::TalkerModel& self, const std::string& text, bool special) {
            const std::vector<std::int32_t> tokens = self.tokenize(text, special);
            py::array_t<std::int32_t> array(static_cast<py::ssize_t>(tokens.size()));
            if (!tokens.empty()) std::memcpy(array.mutable_data(), tokens.data(), tokens.size() * sizeof(std::int32_t));
            return array;
          },
          py::arg("text"), py::arg("special"));
  py::class_<PyLlamaTalker> session(module, "TalkerSession");
  session
      .def(py::init(&llama_talker), py::arg("model").none(false), py::arg("n_positions"), py::arg("n_threads"),
           py::arg("kv_f32") = false)
      .def("set_threads", [](PyLlamaTalker& self, int n) { self.session->set_threads(n); }, py::arg("n_threads"));
  PyLlamaTalker::add_calls(session);
  py::class_<kazeia::NativeTalkerModel, std::shared_ptr<kazeia::NativeTalkerModel>>(module, "NativeTalkerModel")
      .def(py::init([](const py::dict& shape, std::size_t vocab, const py::dict& tensors) {
             const kazeia::DecoderShape of = decoder_shape(shape);
             const kazeia::TensorMap views = tensor_map(tensors);
             const py::gil_scoped_release release;
             return std::make_shared<kazeia::NativeTalkerModel>(of, vocab, views);
           }),
           py::arg("shape"), py::arg("vocab"), py::arg("tensors"))
      .def_property_readonly("n_bytes", &kazeia::NativeTalkerModel::n_bytes);
  py::class_<PyNativeTalker> native(module, "NativeTalker");
  native.def(py::init(&native_talker), py::arg("model").none(false), py::arg("team").none(false),
             py::arg("n_positions"), py::arg("kv_f32") = false);
  PyNativeTalker::add_calls(native);
  native
      .def(
          "reserve",
          [](PyNativeTalker& self, std::size_t sequence, std::size_t n_positions) {
            talking([&] { self.session->reserve(sequence, n_positions); });
          },
          py::arg("sequence"), py::arg("n_positions"))
      .def("prefill_of", &prefill_of, py::arg("embeds"), py::arg("n_prefix"), py::arg("sequence"))
      .def("decode_all", &decode_all, py::arg("sequences"), py::arg("embeds"))
      .def("take_times_ns", [](PyNativeTalker& self) {
        const kazeia::TalkerTimes times = self.session->times;
        self.session->times = {};
        return py::make_tuple(times.layers, times.head);
      });
}
