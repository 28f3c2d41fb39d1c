#include "kazeia/cpu.h"

#include "check.h"
#include "polyphase_fir/polyphase_fir.h"

using kazeia::Isa;

int main() {
  for (Isa isa : {Isa::scalar, Isa::avx2, Isa::neon}) {
    const std::string problem = kazeia::select_isa(kazeia::isa_name(isa));
    CHECK(problem.empty() == kazeia::isa_supported(isa));
    if (kazeia::isa_supported(isa)) {
      CHECK(kazeia::active_isa() == isa);
      const bool is_scalar = kazeia::polyphase_fir::dot_function(isa) == kazeia::polyphase_fir::dot_scalar;
      CHECK(is_scalar == (isa == Isa::scalar));
    }
  }
  CHECK(!kazeia::select_isa("sse9").empty());
  CHECK(kazeia::select_isa("").empty());
#if defined(__aarch64__)
  CHECK(kazeia::active_isa() == Isa::neon);
#endif
  return kazeia_test::summary();
}
