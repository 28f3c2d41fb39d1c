// The Python module kazeia_desktop._native._core: numpy in, numpy out, the GIL released while computing.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstring>
#include <vector>

#include "kazeia/cpu.h"
#include "kazeia/llama_info.h"
#include "kazeia/resampler.h"
#include "llm.h"
#include "tts.h"

namespace py = pybind11;

namespace {

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;

py::array_t<float> to_array(const std::vector<float>& values) {
  py::array_t<float> array(static_cast<py::ssize_t>(values.size()));
  if (!values.empty()) std::memcpy(array.mutable_data(), values.data(), values.size() * sizeof(float));
  return array;
}

py::array_t<float> push(kazeia::Resampler& resampler, const FloatArray& samples) {
  if (samples.ndim() != 1) throw py::value_error("samples must have one dimension");
  std::vector<float> out;
  {
    const float* data = samples.data();
    const auto n = static_cast<std::size_t>(samples.size());
    py::gil_scoped_release release;
    resampler.push(data, n, out);
  }
  return to_array(out);
}

py::array_t<float> flush(kazeia::Resampler& resampler) {
  std::vector<float> out;
  {
    py::gil_scoped_release release;
    resampler.flush(out);
  }
  return to_array(out);
}

py::dict llama_build() {
  kazeia::LlamaBuild build;
  {
    py::gil_scoped_release release;
    build = kazeia::llama_build();
  }
  py::list devices;
  for (const auto& device : build.devices) {
    py::dict found;
    found["name"] = device.name;
    found["description"] = device.description;
    found["type"] = device.type;
    found["memory_total_bytes"] = device.memory_total_bytes;
    found["memory_free_bytes"] = device.memory_free_bytes;
    devices.append(found);
  }
  py::dict result;
  result["version"] = build.version;
  result["commit"] = build.commit;
  result["system_info"] = build.system_info;
  result["library_sha256"] = build.library_sha256;
  result["devices"] = devices;
  return result;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "Kazeia's kernels and its view of llama.cpp.";
  module.attr("LLAMA_LIBRARY_SHA256") = KAZEIA_LLAMA_SHA256;
  module.def("llama_build", &llama_build);
  module.def("select_isa", &kazeia::select_isa, py::arg("name"));
  module.def("active_isa", [] { return kazeia::isa_name(kazeia::active_isa()); });
  py::class_<kazeia::Resampler>(module, "Resampler")
      .def(py::init<std::uint32_t, std::uint32_t>(), py::arg("in_hz"), py::arg("out_hz"))
      .def("push", &push, py::arg("samples"))
      .def("flush", &flush)
      .def("reset", &kazeia::Resampler::reset)
      .def_property_readonly("n_taps", &kazeia::Resampler::n_taps);
  add_llm(module);
  add_tts(module);
}
