#include "kazeia/thread_team.h"

#include <chrono>
#include <stdexcept>
#include <string>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace kazeia {
namespace {

constexpr auto kSpin = std::chrono::microseconds(20);
constexpr unsigned kMostThreads = 64;

void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(unsigned n_threads) : n_threads_(n_threads) {
  if (n_threads == 0 || n_threads > kMostThreads) {
    throw std::invalid_argument("a team of " + std::to_string(n_threads) + " threads: 1 to 64 are possible");
  }
  threads_.reserve(n_threads - 1);
  try {
    for (unsigned worker = 1; worker < n_threads; ++worker) threads_.emplace_back([this, worker] { work(worker); });
  } catch (...) {  // the system has no more threads: a joinable one that is destroyed would end the process
    close();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { close(); }

void ThreadTeam::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadTeam::run_erased(Call call, const void* object) {
  if (n_threads_ == 1) {
    call(object, 0);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    call_ = call;
    object_ = object;
    round_.fetch_add(1);
  }
  changed_.notify_all();
  call(object, 0);
  barrier();  // no worker touches the task after this
}

void ThreadTeam::work(unsigned worker) {
  std::uint32_t seen = 0;
  while (true) {
    Call call = nullptr;
    const void* object = nullptr;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || round_.load() != seen; });
      if (closing_) return;
      seen = round_.load();
      call = call_;
      object = object_;
    }
    call(object, worker);
    barrier();
  }
}

void ThreadTeam::barrier() {
  if (n_threads_ == 1) return;
  const std::uint32_t phase = phase_.load();
  if (arrived_.fetch_add(1) + 1 == n_threads_) {
    arrived_.store(0);
    phase_.fetch_add(1);
    if (sleepers_.load() != 0) {
      // Under the lock: a worker is then either asleep or has not looked at the phase yet.
      {
        const std::lock_guard<std::mutex> lock(mutex_);
      }
      changed_.notify_all();
    }
    return;
  }
  const auto until = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (phase_.load(std::memory_order_acquire) != phase) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() < until);
  sleepers_.fetch_add(1);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return phase_.load() != phase; });
  }
  sleepers_.fetch_sub(1);
}

}  // namespace kazeia
