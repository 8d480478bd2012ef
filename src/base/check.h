#pragma once

#include <cstdio>
#include <cstdlib>

namespace paceline::detail {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace paceline::detail

/// Ends the process when a programmer's assumption does not hold. Never for input.
#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::paceline::detail::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

/// CHECK in debug builds only: preconditions on hot paths.
#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
    if (false) {          \
      (void)(condition);  \
    }                     \
  } while (false)
#else
#define DCHECK(condition) CHECK(condition)
#endif
