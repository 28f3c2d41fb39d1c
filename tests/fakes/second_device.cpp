// A computing device beside the processor, for tests: a backend library that llama.cpp loads like any other. It has its
// own memory, which llama.cpp must copy to and from, and computes as the processor does. Its environment spoils it:
//
//   KZ_SECOND_ABORT=1     ends the process when the library is loaded, as a bad driver does
//   KZ_SECOND_ZERO=NAME   weights with this in their name are zeros on it: one operation is wrong, at full speed
//   KZ_SECOND_FEW=1       it leaves matrix products to the processor
//
// The structures are those of ggml's backend interface of API version 2, which is not among the installed headers.

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

struct ggml_backend_buffer_type {
  const char* (*get_name)(ggml_backend_buffer_type_t);
  ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t, size_t);
  size_t (*get_alignment)(ggml_backend_buffer_type_t);
  size_t (*get_max_size)(ggml_backend_buffer_type_t);
  size_t (*get_alloc_size)(ggml_backend_buffer_type_t, const ggml_tensor*);
  bool (*is_host)(ggml_backend_buffer_type_t);
  ggml_backend_dev_t device;
  void* context;
};

struct ggml_backend_buffer_i {
  void (*free_buffer)(ggml_backend_buffer_t);
  void* (*get_base)(ggml_backend_buffer_t);
  ggml_status (*init_tensor)(ggml_backend_buffer_t, ggml_tensor*);
  void (*memset_tensor)(ggml_backend_buffer_t, ggml_tensor*, uint8_t, size_t, size_t);
  void (*set_tensor)(ggml_backend_buffer_t, ggml_tensor*, const void*, size_t, size_t);
  void (*get_tensor)(ggml_backend_buffer_t, const ggml_tensor*, void*, size_t, size_t);
  void* set_tensor_2d;
  void* get_tensor_2d;
  void* cpy_tensor;
  void (*clear)(ggml_backend_buffer_t, uint8_t);
  void* reset;
};

struct ggml_backend_buffer {
  ggml_backend_buffer_i iface;
  ggml_backend_buffer_type_t buft;
  void* context;
  size_t size;
  int usage;
};

GGML_API ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t, ggml_backend_buffer_i, void*,
                                                        size_t);

struct ggml_backend {
  ggml_guid_t guid;
  const char* (*get_name)(ggml_backend_t);
  void (*free)(ggml_backend_t);
  void* asynchronous[5];
  void* synchronize;
  void* plans[4];
  ggml_status (*graph_compute)(ggml_backend_t, ggml_cgraph*);
  void* events[2];
  void* graph_optimize;
  ggml_backend_dev_t device;
  void* context;
};

struct ggml_backend_device {
  const char* (*get_name)(ggml_backend_dev_t);
  const char* (*get_description)(ggml_backend_dev_t);
  void (*get_memory)(ggml_backend_dev_t, size_t*, size_t*);
  enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t);
  void (*get_props)(ggml_backend_dev_t, ggml_backend_dev_props*);
  ggml_backend_t (*init_backend)(ggml_backend_dev_t, const char*);
  ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t);
  void* get_host_buffer_type;
  void* buffer_from_host_ptr;
  bool (*supports_op)(ggml_backend_dev_t, const ggml_tensor*);
  bool (*supports_buft)(ggml_backend_dev_t, ggml_backend_buffer_type_t);
  void* offload_op;
  void* events[3];
  ggml_backend_reg_t reg;
  void* context;
};

struct ggml_backend_reg {
  int api_version;
  const char* (*get_name)(ggml_backend_reg_t);
  size_t (*get_device_count)(ggml_backend_reg_t);
  ggml_backend_dev_t (*get_device)(ggml_backend_reg_t, size_t);
  void* get_proc_address;
  void* context;
};
}

namespace {

constexpr size_t kAlignment = 64;
const char* const kZero = std::getenv("KZ_SECOND_ZERO");
const bool kFew = std::getenv("KZ_SECOND_FEW") != nullptr;

extern ggml_backend_device device;
extern ggml_backend_buffer_type memory;
extern ggml_backend_reg registration;

// Memory

void set_tensor(ggml_backend_buffer_t, ggml_tensor* tensor, const void* data, size_t offset, size_t size) {
  char* to = static_cast<char*>(tensor->data) + offset;
  if (kZero != nullptr && std::strstr(tensor->name, kZero) != nullptr) {
    std::memset(to, 0, size);
  } else {
    std::memcpy(to, data, size);
  }
}

const ggml_backend_buffer_i kBuffer = {
    [](ggml_backend_buffer_t buffer) { std::free(buffer->context); },
    [](ggml_backend_buffer_t buffer) { return buffer->context; },
    nullptr,
    [](ggml_backend_buffer_t, ggml_tensor* tensor, uint8_t value, size_t offset, size_t size) {
      std::memset(static_cast<char*>(tensor->data) + offset, value, size);
    },
    set_tensor,
    [](ggml_backend_buffer_t, const ggml_tensor* tensor, void* data, size_t offset, size_t size) {
      std::memcpy(data, static_cast<const char*>(tensor->data) + offset, size);
    },
    nullptr,
    nullptr,
    nullptr,
    [](ggml_backend_buffer_t buffer, uint8_t value) { std::memset(buffer->context, value, buffer->size); },
    nullptr,
};

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
  void* block = std::aligned_alloc(kAlignment, (size / kAlignment + 1) * kAlignment);
  return block == nullptr ? nullptr : ggml_backend_buffer_init(type, kBuffer, block, size);
}

ggml_backend_buffer_type memory = {
    [](ggml_backend_buffer_type_t) { return "SECOND"; },
    alloc_buffer,
    [](ggml_backend_buffer_type_t) { return kAlignment; },
    nullptr,
    nullptr,
    [](ggml_backend_buffer_type_t) { return false; },  // llama.cpp must copy
    &device,
    nullptr,
};

// Computing

ggml_backend_t processor(ggml_backend_t backend) { return static_cast<ggml_backend_t>(backend->context); }

ggml_backend_t init_backend(ggml_backend_dev_t, const char*) {
  static uint8_t guid[16] = {'k', 'z', '-', 's', 'e', 'c', 'o', 'n', 'd'};
  auto* backend = new ggml_backend{};
  backend->guid = &guid;
  backend->get_name = [](ggml_backend_t) { return "SECOND0"; };
  backend->free = [](ggml_backend_t gone) {
    ggml_backend_free(processor(gone));
    delete gone;
  };
  backend->graph_compute = [](ggml_backend_t self, ggml_cgraph* graph) {
    return ggml_backend_graph_compute(processor(self), graph);
  };
  backend->device = &device;
  ggml_backend_t cpu = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(cpu, 1);
  backend->context = cpu;
  return backend;
}

void get_memory(ggml_backend_dev_t, size_t* free, size_t* total) {
  *free = size_t{3} << 30;
  *total = size_t{4} << 30;
}

void get_props(ggml_backend_dev_t self, ggml_backend_dev_props* props) {
  *props = ggml_backend_dev_props{};
  props->name = self->get_name(self);
  props->description = self->get_description(self);
  props->type = self->get_type(self);
  get_memory(self, &props->memory_free, &props->memory_total);
}

bool supports_op(ggml_backend_dev_t, const ggml_tensor* op) {
  if (kFew && op->op == GGML_OP_MUL_MAT) {
    return false;
  }
  return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), op);
}

ggml_backend_device device = {
    [](ggml_backend_dev_t) { return "SECOND0"; },
    [](ggml_backend_dev_t) { return "A second device,\n of a test"; },
    get_memory,
    [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; },
    get_props,
    init_backend,
    [](ggml_backend_dev_t) { return &memory; },
    nullptr,
    nullptr,
    supports_op,
    [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == &memory; },
    nullptr,
    {},
    &registration,
    nullptr,
};

ggml_backend_reg registration = {
    2,
    [](ggml_backend_reg_t) { return "SECOND"; },
    [](ggml_backend_reg_t) { return size_t{1}; },
    [](ggml_backend_reg_t, size_t) { return &device; },
    nullptr,
    nullptr,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
  if (std::getenv("KZ_SECOND_ABORT") != nullptr) {
    std::fputs("second device: firmware does not answer\n", stderr);
    std::abort();
  }
  return &registration;
}
