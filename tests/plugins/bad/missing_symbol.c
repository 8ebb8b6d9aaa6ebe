/* The entry has another name. */
#define PLUGIN_ID "missing-symbol"
#define OWN_ENTRY
#include "tests/plugins/base.h"
