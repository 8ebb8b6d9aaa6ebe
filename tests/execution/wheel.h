// A wheel with one module, so that installing can be tested without any package index.
#ifndef BERTH_TESTS_EXECUTION_WHEEL_H_
#define BERTH_TESTS_EXECUTION_WHEEL_H_

#include <string>
#include <string_view>

#include "core/execution/execution.h"

namespace berth::test {

// The file "<name>-<version>-py3-none-any.whl" whose module `name` has this source.
RequestFile make_wheel(std::string_view name, std::string_view version, std::string_view source);

}  // namespace berth::test

#endif  // BERTH_TESTS_EXECUTION_WHEEL_H_
