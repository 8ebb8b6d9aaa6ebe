/* Calls a function that no library has. */
#define PLUGIN_ID "undefined-symbol"
int nowhere(void);
#define ENTRY_FIRST nowhere();
#include "tests/plugins/base.h"
