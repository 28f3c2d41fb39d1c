// How fast weights are read: the panel kernels over matrices far larger than the caches, beside a plain read.
//
//   panel_matvec_bench [threads] [rounds]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kazeia/cpu.h"
#include "kazeia/decoder.h"
#include "kazeia/thread_team.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kCols = 1024;
constexpr std::size_t kRows = 4096;
constexpr std::size_t kMatrices = 24;  // 107 MB at q8_0

double best_ms(std::size_t rounds, const std::function<void()>& run) {
  double best = 1e9;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    run();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

void bench(kazeia::WeightType type, unsigned threads, std::size_t rounds, std::size_t n_vectors) {
  const std::size_t bytes = kRows * kazeia::row_bytes(type, kCols);
  std::vector<std::byte> raw(bytes);
  for (std::size_t i = 0; i < bytes; ++i) raw[i] = static_cast<std::byte>(i * 7 % 31);
  std::vector<kazeia::PackedMatrix> matrices;
  for (std::size_t i = 0; i < kMatrices; ++i) {
    matrices.emplace_back(kazeia::MatrixView{raw.data(), bytes, type, kRows, kCols});
  }
  std::vector<float> x(4 * kCols, 0.5F);
  std::vector<float> y(4 * kRows);
  kazeia::ThreadTeam team(threads);
  std::vector<kazeia::Rounded> rounded;
  for (unsigned i = 0; i < threads; ++i) rounded.emplace_back(kCols);
  const double ms = best_ms(rounds, [&] {
    team.run([&](unsigned worker) {
      for (const auto& matrix : matrices) {
        const auto share = team.share(matrix.n_panels(), worker);
        rounded[worker].multiply(matrix, x.data(), n_vectors, share.begin, share.end, y.data(), kRows);
      }
    });
  });
  std::printf("%-5s %zu vectors %u threads: %7.2f ms, %5.1f GB/s\n", kazeia::weight_type_name(type), n_vectors, threads,
              ms, static_cast<double>(bytes * kMatrices) / ms / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 2;
  const std::size_t rounds = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 20;
  std::printf("instruction set: %s\n", kazeia::isa_name(kazeia::active_isa()));
  for (const auto type :
       {kazeia::WeightType::f32, kazeia::WeightType::f16, kazeia::WeightType::q8_0, kazeia::WeightType::q4_0}) {
    for (std::size_t n : {1, 2, 4}) bench(type, threads, rounds, n);
  }
  return 0;
}
