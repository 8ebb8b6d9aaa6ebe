// A global object whose constructor throws.
#define PLUGIN_ID "constructor-throws"
#include "tests/plugins/base.h"

#include <stdexcept>

namespace {
struct Thrower {
  Thrower() { throw std::runtime_error("thrown while loading"); }
} thrower;
}  // namespace
