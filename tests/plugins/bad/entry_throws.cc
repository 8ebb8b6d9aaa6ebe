// The entry lets an exception out.
#include <stdexcept>
#define PLUGIN_ID "entry-throws"
#define ENTRY_FIRST \
  if (offer != nullptr) throw std::runtime_error("thrown by the entry");
#include "tests/plugins/base.h"
