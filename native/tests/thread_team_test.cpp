#include "kazeia/thread_team.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <vector>

// A limit on memory stands in for a system that has no more threads; sanitizers and qemu reserve memory of their own.
#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/resource.h>
#define KAZEIA_LIMITED_MEMORY 1
#endif

#include "check.h"

namespace {

using kazeia::ThreadTeam;

// ThreadSanitizer and qemu make a barrier of more threads than cores some hundred times slower.
constexpr int kRuns = 40;
constexpr int kBarriers = 50;

/// Every worker writes its own place, then all read all places: wrong wherever a barrier lets someone through early.
void test_barriers(unsigned n) {
  ThreadTeam team(n);
  CHECK(team.size() == n);
  std::vector<std::uint64_t> places(n, 0);  // not atomic: the barrier alone orders it
  std::vector<int> wrong(n, 0);
  std::uint64_t value = 0;
  for (int run = 0; run < kRuns; ++run) {
    team.run([&](unsigned worker) {
      for (int i = 0; i < kBarriers; ++i) {
        places[worker] += worker + 1;
        team.barrier();
        const std::uint64_t step = value + static_cast<std::uint64_t>(i) + 1;
        for (unsigned other = 0; other < n; ++other) wrong[worker] += places[other] != step * (other + 1) ? 1 : 0;
        team.barrier();
      }
    });
    value += kBarriers;
  }
  for (unsigned worker = 0; worker < n; ++worker) {
    CHECK(wrong[worker] == 0);
    CHECK(places[worker] == static_cast<std::uint64_t>(kRuns) * kBarriers * (worker + 1));
  }
}

/// One worker is late at each barrier, so that the others fall asleep there.
void test_sleeping_at_a_barrier() {
  constexpr unsigned kThreads = 3;
  ThreadTeam team(kThreads);
  std::vector<int> seen(kThreads, 0);
  int shared = 0;
  team.run([&](unsigned worker) {
    for (unsigned late = 0; late < 2 * kThreads; ++late) {
      if (late % kThreads == worker) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
        while (std::chrono::steady_clock::now() < until) {
        }
        ++shared;
      }
      team.barrier();
      seen[worker] += shared == static_cast<int>(late) + 1 ? 1 : 0;
      team.barrier();
    }
  });
  for (int count : seen) CHECK(count == 2 * static_cast<int>(kThreads));
}

/// Each worker is called once a run, and none after run() has returned.
void test_runs(unsigned n) {
  ThreadTeam team(n);
  for (int run = 0; run < 300; ++run) {
    std::vector<std::atomic<int>> called(n);
    team.run([&](unsigned worker) { called[worker].fetch_add(1, std::memory_order_relaxed); });
    bool once = true;
    for (const auto& count : called) once = once && count.load(std::memory_order_relaxed) == 1;
    CHECK(once);
    // Now and then long enough for the workers to have gone to sleep.
    if (run % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void test_ends(unsigned n) {
  for (int i = 0; i < 20; ++i) {
    const ThreadTeam never_used(n);
  }
  for (int i = 0; i < 20; ++i) {
    std::atomic<unsigned> sum{0};
    {
      ThreadTeam team(n);
      team.run([&](unsigned worker) { sum += worker + 1; });
      if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(sum == n * (n + 1) / 2);
  }
}

void test_share(unsigned n) {
  const ThreadTeam team(n);
  for (std::size_t things : {0, 1, 2, 7, 8, 100, 2048}) {
    std::size_t next = 0;
    bool fair = true;
    for (unsigned worker = 0; worker < n; ++worker) {
      const auto share = team.share(things, worker);
      fair = fair && share.begin == next && share.end - share.begin <= things / n + 1 && share.end >= share.begin;
      next = share.end;
    }
    CHECK(fair && next == things);
  }
}

bool refused(unsigned n) {
  try {
    const ThreadTeam team(n);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

/// Two teams at the same time, each driven by a thread of its own.
void test_two_teams() {
  std::uint64_t sums[2] = {0, 0};
  std::vector<std::thread> drivers;
  for (std::uint64_t& sum : sums) {
    drivers.emplace_back([&sum] {
      ThreadTeam team(2);
      std::uint64_t parts[2] = {0, 0};
      for (std::uint64_t i = 0; i < 200; ++i) {
        team.run([&](unsigned worker) {
          parts[worker] += i;
          team.barrier();
          if (worker == 0) sum = parts[0] + parts[1];
        });
      }
    });
  }
  for (auto& driver : drivers) driver.join();
  for (const std::uint64_t sum : sums) CHECK(sum == 2 * 199 * 200 / 2);
}

#ifdef KAZEIA_LIMITED_MEMORY
/// Some threads start, then none: an error, and those that started end.
void test_no_more_threads() {
  rlimit before{};
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit little{rlim_t{192} << 20U, before.rlim_max};  // a stack takes 8 MB
  CHECK(setrlimit(RLIMIT_AS, &little) == 0);
  bool told = false;
  try {
    const ThreadTeam team(64);
  } catch (const std::system_error&) {
    told = true;
  }
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(told);
  test_runs(2);
}
#endif

}  // namespace

int main() {
  for (unsigned n = 1; n <= 8; ++n) {
    test_barriers(n);
    test_runs(n);
    test_ends(n);
    test_share(n);
  }
  test_sleeping_at_a_barrier();
  test_two_teams();
  CHECK(refused(0) && refused(65) && refused(4000000000U));
  CHECK(!refused(64));
#ifdef KAZEIA_LIMITED_MEMORY
  test_no_more_threads();
#endif
  return kazeia_test::summary();
}
