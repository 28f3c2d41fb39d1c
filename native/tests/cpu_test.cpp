#include "kazeia/cpu.h"

#include <algorithm>
#include <iterator>

#include "each_isa.h"
#include "polyphase_fir/polyphase_fir.h"

using kazeia::Isa;
using kazeia::isa_supported;

int main() {
  for (Isa isa : kazeia::kIsas) {
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
  // The best one; every machine that Kazeia runs on has vectors.
  CHECK(kazeia::active_isa() == *std::find_if(std::begin(kazeia::kIsas), std::end(kazeia::kIsas), isa_supported));
  CHECK(kazeia::active_isa() != Isa::scalar);
  kazeia_test::each_isa([](Isa isa) { std::printf("instruction set: %s\n", kazeia::isa_name(isa)); });
  return kazeia_test::summary();
}
