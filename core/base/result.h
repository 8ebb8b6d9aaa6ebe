// Result<T>: a value or an Error. The one way an expected failure travels in this library.
#ifndef BERTH_CORE_BASE_RESULT_H_
#define BERTH_CORE_BASE_RESULT_H_

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "core/base/error.h"

namespace berth {

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error(kind, std::move(message)));
}

}  // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)

// BERTH_TRY(auto fd, open_file(path));  returns the error of a failed expression.
#define BERTH_TRY(declaration, expression)                                                       \
  auto BERTH_CONCAT(berth_try_, __LINE__) = (expression);                                        \
  if (!BERTH_CONCAT(berth_try_, __LINE__))                                                       \
    return ::berth::fail(std::move(BERTH_CONCAT(berth_try_, __LINE__)).error());                 \
  declaration = std::move(*BERTH_CONCAT(berth_try_, __LINE__))

// BERTH_CHECK_OK(write_all(fd, bytes));  the same for a Status.
#define BERTH_CHECK_OK(expression)                                                               \
  do {                                                                                           \
    auto berth_status_value = (expression);                                                      \
    if (!berth_status_value) return ::berth::fail(std::move(berth_status_value).error());        \
  } while (false)

// The same two inside a coroutine.
#define BERTH_CO_TRY(declaration, expression)                                                    \
  auto BERTH_CONCAT(berth_try_, __LINE__) = (expression);                                        \
  if (!BERTH_CONCAT(berth_try_, __LINE__))                                                       \
    co_return ::berth::fail(std::move(BERTH_CONCAT(berth_try_, __LINE__)).error());              \
  declaration = std::move(*BERTH_CONCAT(berth_try_, __LINE__))

#define BERTH_CO_CHECK_OK(expression)                                                            \
  do {                                                                                           \
    auto berth_status_value = (expression);                                                      \
    if (!berth_status_value) co_return ::berth::fail(std::move(berth_status_value).error());     \
  } while (false)

#endif  // BERTH_CORE_BASE_RESULT_H_
