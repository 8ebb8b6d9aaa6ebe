// FUZZ_CHECK(condition): ends the process with the failed condition, in every build type.
#ifndef BERTH_TESTS_FUZZ_FUZZ_CHECK_H_
#define BERTH_TESTS_FUZZ_FUZZ_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(condition)                                                          \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                    \
    }                                                                                  \
  } while (false)

#endif  // BERTH_TESTS_FUZZ_FUZZ_CHECK_H_
