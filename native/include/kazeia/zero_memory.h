// Large buffers that take memory only where they were written.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

namespace kazeia {

/// For vectors of numbers: they begin as zeros, which the system gives without memory behind them until a page is
/// written. A sequence of 1024 positions that is used up to its 100th takes a tenth. Resized once: what a smaller size
/// leaves behind is not cleared for a larger one.
template <class T>
struct ZeroMemory {
  using value_type = T;

  ZeroMemory() = default;
  template <class U>
  ZeroMemory(const ZeroMemory<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): an allocator's

  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    void* memory = std::calloc(n, sizeof(T));  // NOLINT(cppcoreguidelines-no-malloc): nothing else zeroes lazily
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*n*/) { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)

  /// Zeros already.
  void construct(T* /*at*/) {}
  template <class U>
  void construct(T* at, const U& value) {
    ::new (static_cast<void*>(at)) T(value);
  }

  template <class U>
  bool operator==(const ZeroMemory<U>& /*other*/) const {
    return true;
  }
  template <class U>
  bool operator!=(const ZeroMemory<U>& /*other*/) const {
    return false;
  }
};

}  // namespace kazeia
