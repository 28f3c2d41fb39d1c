// What is done for each token of the language model. llama.cpp's objects come as addresses: they are made, and freed,
// through llama-cpp-python's own bindings, which are slower by what a token's weights push out of the caches.
#include "llm.h"

#include <llama.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>

#include "kazeia/token_chooser.h"

namespace py = pybind11;

namespace {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;

template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): how ctypes says a pointer
}

class Chooser {
 public:
  explicit Chooser(std::size_t n_tokens) : n_tokens_(n_tokens), chooser_(n_tokens) {}

  void use(std::uintptr_t chain, std::size_t kept, std::size_t window) {
    if (chain == 0) throw py::value_error("a chain is wanted");
    chooser_.use(at<llama_sampler>(chain), kept, window);
    ready_ = true;
  }

  void keep_to(std::uintptr_t grammar) { chooser_.keep_to(at<llama_sampler>(grammar)); }

  std::int32_t choose(const FloatArray& logits) {
    if (!ready_) throw py::value_error("a chain is wanted");
    if (logits.ndim() != 1 || static_cast<std::size_t>(logits.shape(0)) != n_tokens_) {
      throw py::value_error("logits must have shape (" + std::to_string(n_tokens_) + ",)");
    }
    const float* data = logits.data();
    py::gil_scoped_release release;
    return chooser_.choose(data);
  }

  [[nodiscard]] std::vector<std::int32_t> said() const { return chooser_.said(); }
  void restart() { chooser_.restart(); }

 private:
  std::size_t n_tokens_;
  bool ready_ = false;
  kazeia::TokenChooser chooser_;
};

std::int32_t decode_token(std::uintptr_t context, std::int32_t token) {
  py::gil_scoped_release release;
  return llama_decode(at<llama_context>(context), llama_batch_get_one(&token, 1));
}

std::uintptr_t last_logits(std::uintptr_t context) {
  py::gil_scoped_release release;  // waits for a device that still computes
  return reinterpret_cast<std::uintptr_t>(llama_get_logits_ith(at<llama_context>(context), -1));
}

py::bytes token_piece(std::uintptr_t vocabulary, std::int32_t token, bool special) {
  const auto* vocab = at<const llama_vocab>(vocabulary);
  std::string piece(64, '\0');
  std::int32_t n =
      llama_token_to_piece(vocab, token, piece.data(), static_cast<std::int32_t>(piece.size()), 0, special);
  if (n < 0) {
    piece.resize(static_cast<std::size_t>(-n));
    n = llama_token_to_piece(vocab, token, piece.data(), static_cast<std::int32_t>(piece.size()), 0, special);
  }
  return {piece.data(), static_cast<std::size_t>(n < 0 ? 0 : n)};
}

bool is_end(std::uintptr_t vocabulary, std::int32_t token) {
  return llama_vocab_is_eog(at<const llama_vocab>(vocabulary), token);
}

}  // namespace

void add_llm(py::module_& module) {
  module.def("decode_token", &decode_token, py::arg("context"), py::arg("token"));
  module.def("last_logits", &last_logits, py::arg("context"));
  module.def("token_piece", &token_piece, py::arg("vocabulary"), py::arg("token"), py::arg("special"));
  module.def("is_end", &is_end, py::arg("vocabulary"), py::arg("token"));
  py::class_<Chooser>(module, "TokenChooser")
      .def(py::init<std::size_t>(), py::arg("n_tokens"))
      .def("use", &Chooser::use, py::arg("chain"), py::arg("kept"), py::arg("window"))
      .def("keep_to", &Chooser::keep_to, py::arg("grammar"))
      .def("choose", &Chooser::choose, py::arg("logits"))
      .def("restart", &Chooser::restart)
      .def_property_readonly("said", &Chooser::said);
}
