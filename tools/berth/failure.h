// Failure: an error together with the exit code that it ends the command with.
#ifndef BERTH_TOOLS_BERTH_FAILURE_H_
#define BERTH_TOOLS_BERTH_FAILURE_H_

#include <tl/expected.hpp>
#include <utility>

#include "core/base/error.h"
#include "tools/berth/exit_codes.h"

namespace berth::cli {

struct Failure {
  Exit exit = Exit::kInternal;
  Error error;
};

template <class T>
using Tried = tl::expected<T, Failure>;

inline tl::unexpected<Failure> failed(Exit exit, Error error) {
  return tl::unexpected<Failure>(Failure{exit, std::move(error)});
}

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_FAILURE_H_
