/* The entry ends the process by a signal. */
#define PLUGIN_ID "entry-crashes"
#include <stdlib.h>
#define ENTRY_FIRST abort();
#include "tests/plugins/base.h"
