// What llama.cpp is mapped into this process, and what it can run on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kazeia {

struct ComputeDevice {
  std::string name;         // as ggml names it, for example "CPU"
  std::string description;  // of the hardware
  std::string type;         // "cpu", "gpu", "igpu" or "accelerator"
  std::uint64_t memory_total_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
};

struct LlamaBuild {
  std::string version;         // llama.cpp's own
  std::string commit;          // of its source; "unknown" where it was built from an archive
  std::string system_info;     // instruction sets and options
  std::string library_sha256;  // of the libllama that this extension was linked against
  std::vector<ComputeDevice> devices;
};

/// Never throws, prints nothing.
LlamaBuild llama_build();

}  // namespace kazeia
