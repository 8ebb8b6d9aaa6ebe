/* Ends the process while it is loaded. */
#define PLUGIN_ID "constructor-exits"
#include "tests/plugins/base.h"
#include <unistd.h>
__attribute__((constructor)) static void leave(void) { _exit(0); }
