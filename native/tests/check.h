// A test is a program: CHECK counts, summary() prints the closing line and gives the exit code.
#pragma once

#include <cstdio>

namespace kazeia_test {

inline int passed = 0;
inline int failed = 0;

inline bool check(bool ok, const char* what, const char* file, int line) {
  ok ? ++passed : ++failed;
  if (!ok) std::printf("%s:%d: FAILED %s\n", file, line, what);
  return ok;
}

inline int summary() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace kazeia_test

#define CHECK(condition) kazeia_test::check((condition), #condition, __FILE__, __LINE__)
