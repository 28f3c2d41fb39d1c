// A few threads that compute one thing together, and sleep when there is nothing to do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kazeia {

/// The caller of run() is worker 0. One run() at a time. At a barrier a worker spins for about 20 microseconds,
/// then blocks: three stages share the cores of a laptop, and a thread that spins takes them from the others.
class ThreadTeam {
 public:
  /// 1 to 64 threads; throws std::invalid_argument otherwise, std::system_error when the system has no more.
  explicit ThreadTeam(unsigned n_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] unsigned size() const { return n_threads_; }

  /// task(worker) on every worker, 0 to size() - 1; returns when all are done. The task must not throw.
  template <class Task>
  void run(const Task& task) {
    run_erased([](const void* object, unsigned worker) { (*static_cast<const Task*>(object))(worker); }, &task);
  }

  /// Within run(): returns when all workers are here. What they wrote before is seen by all after.
  void barrier();

  /// Within run(): the share [begin, end) of n things that belong to a worker.
  struct Share {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] Share share(std::size_t n, unsigned worker) const {
    return {n * worker / n_threads_, n * (worker + 1) / n_threads_};
  }

 private:
  using Call = void (*)(const void*, unsigned);
  void run_erased(Call call, const void* object);
  void work(unsigned worker);
  void close();

  const unsigned n_threads_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> phase_{0};  // barriers passed
  std::atomic<std::uint32_t> round_{0};  // runs started
  std::atomic<unsigned> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  Call call_ = nullptr;
  const void* object_ = nullptr;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kazeia
