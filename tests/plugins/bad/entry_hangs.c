/* The entry does not return. */
#define PLUGIN_ID "entry-hangs"
#include <unistd.h>
#define ENTRY_FIRST for (;;) pause();
#include "tests/plugins/base.h"
