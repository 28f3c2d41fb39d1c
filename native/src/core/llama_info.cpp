#include "kazeia/llama_info.h"

#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>

namespace kazeia {
namespace {

const char* type_name(enum ggml_backend_dev_type type) {
  switch (type) {
    case GGML_BACKEND_DEVICE_TYPE_CPU:
      return "cpu";
    case GGML_BACKEND_DEVICE_TYPE_GPU:
      return "gpu";
    case GGML_BACKEND_DEVICE_TYPE_IGPU:
      return "igpu";
    default:
      return "accelerator";
  }
}

}  // namespace

LlamaBuild llama_build() {
  LlamaBuild build;
  build.version = llama_version();
  build.commit = ggml_commit();
  build.system_info = llama_print_system_info();
  build.library_sha256 = KAZEIA_LLAMA_SHA256;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    ggml_backend_dev_t device = ggml_backend_dev_get(i);
    ComputeDevice found;
    found.name = ggml_backend_dev_name(device);
    found.description = ggml_backend_dev_description(device);
    found.type = type_name(ggml_backend_dev_type(device));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    found.memory_total_bytes = total_bytes;
    found.memory_free_bytes = free_bytes;
    build.devices.push_back(found);
  }
  return build;
}

}  // namespace kazeia
