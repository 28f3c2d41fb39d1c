#include "kazeia/cpu.h"

#include <atomic>

#if defined(_MSC_VER) && defined(KAZEIA_HAS_AVX2)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace kazeia {
namespace {

constexpr Isa kAll[] = {Isa::avx2, Isa::neon, Isa::scalar};  // best first

bool runs_avx2() {
#if !defined(KAZEIA_HAS_AVX2)
  return false;
#elif defined(_MSC_VER)
  int info[4];
  __cpuid(info, 1);
  const bool os_saves_ymm = (info[2] & (1 << 27)) != 0 && (_xgetbv(0) & 6) == 6;
  const bool fma_f16c = (info[2] & (1 << 12)) != 0 && (info[2] & (1 << 29)) != 0;
  __cpuidex(info, 7, 0);
  return os_saves_ymm && fma_f16c && (info[1] & (1 << 5)) != 0;
#else
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
#endif
}

Isa best() {
  for (Isa isa : kAll) {
    if (isa_supported(isa)) return isa;
  }
  return Isa::scalar;
}

std::atomic<Isa>& active() {
  static std::atomic<Isa> isa{best()};
  return isa;
}

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::neon:
      return "neon";
    default:
      return "scalar";
  }
}

bool isa_supported(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return runs_avx2();
    case Isa::neon:
#if defined(KAZEIA_HAS_NEON)
      return true;  // part of every aarch64
#else
      return false;
#endif
    default:
      return true;
  }
}

std::string select_isa(const std::string& name) {
  if (name.empty()) {
    active() = best();
    return "";
  }
  for (Isa isa : kAll) {
    if (name == isa_name(isa)) {
      if (!isa_supported(isa)) return "this processor does not run " + name;
      active() = isa;
      return "";
    }
  }
  return "no instruction set is called " + name;
}

Isa active_isa() { return active(); }

}  // namespace kazeia
