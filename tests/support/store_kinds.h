// The stores there are, for tests that must hold over each of them.
#ifndef BERTH_TESTS_SUPPORT_STORE_KINDS_H_
#define BERTH_TESTS_SUPPORT_STORE_KINDS_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/lifecycle/store.h"

namespace berth::testing {

struct StoreKind {
  std::string name;
  // A new, empty store; null stands for the harness's own, in memory.
  std::function<std::unique_ptr<Store>()> open;
};

std::vector<StoreKind> store_kinds();

// How a test's name and messages show it.
inline void PrintTo(const StoreKind& kind, std::ostream* stream) { *stream << kind.name; }

}  // namespace berth::testing

#endif  // BERTH_TESTS_SUPPORT_STORE_KINDS_H_
