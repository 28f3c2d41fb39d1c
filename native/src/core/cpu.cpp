#include "kazeia/cpu.h"

#include <atomic>

#if defined(_MSC_VER) && defined(KAZEIA_HAS_AVX2)
#include <immintrin.h>
#include <intrin.h>
#endif
#if defined(KAZEIA_HAS_NEON) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(KAZEIA_HAS_NEON) && defined(_WIN32)
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

namespace kazeia {
namespace {

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

bool runs_avx512() {
#if !defined(KAZEIA_HAS_AVX2)
  return false;
#elif defined(_MSC_VER)
  int info[4];
  __cpuidex(info, 7, 0);
  const auto f_bw_vl = static_cast<int>(0xC0010000U);  // bits 16, 30 and 31
  const bool os_saves_zmm = (_xgetbv(0) & 0xE6) == 0xE6;
  return os_saves_zmm && (info[1] & f_bw_vl) == f_bw_vl && (info[2] & (1 << 11)) != 0;
#else
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#endif
}

// Elsewhere than on Linux and Windows: not known, so not used.
bool runs_dotprod() {
#if defined(KAZEIA_HAS_NEON) && defined(__linux__)
  constexpr unsigned long kDotprod = 1UL << 20U;  // HWCAP_ASIMDDP, which older headers do not name
  return (getauxval(AT_HWCAP) & kDotprod) != 0;
#elif defined(KAZEIA_HAS_NEON) && defined(_WIN32)
  return IsProcessorFeaturePresent(PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE) != 0;
#else
  return false;
#endif
}

bool runs_i8mm() {
#if defined(KAZEIA_HAS_NEON) && defined(__linux__)
  constexpr unsigned long kI8mm = 1UL << 13U;  // HWCAP2_I8MM
  return (getauxval(AT_HWCAP2) & kI8mm) != 0;
#elif defined(KAZEIA_HAS_NEON) && defined(_WIN32)
  constexpr DWORD kI8mm = 66;  // PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE, which older SDKs do not name
  return IsProcessorFeaturePresent(kI8mm) != 0;
#else
  return false;
#endif
}

Isa best() {
  for (Isa isa : kIsas) {
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
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon-dotprod";
    case Isa::neon_i8mm:
      return "neon-i8mm";
    default:
      return "scalar";
  }
}

bool isa_supported(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return runs_avx2();
    case Isa::avx512:
      return runs_avx2() && runs_avx512();
    case Isa::neon:
#if defined(KAZEIA_HAS_NEON)
      return true;  // part of every aarch64
#else
      return false;
#endif
    case Isa::neon_dotprod:
      return runs_dotprod();
    case Isa::neon_i8mm:
      return runs_dotprod() && runs_i8mm();
    default:
      return true;
  }
}

std::string select_isa(const std::string& name) {
  if (name.empty()) {
    active() = best();
    return "";
  }
  for (Isa isa : kIsas) {
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
