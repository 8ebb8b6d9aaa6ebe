/* Ends the process when it is opened. */
#define PLUGIN_ID "open-crashes"
#include <stdlib.h>
#define SLOT_OPEN open_and_die
#define BERTH_PROVIDER_BUILD 1
#include "sdk/include/berth/abi.h"
static void open_and_die(void *self, berth_op op, const berth_open_spec *spec) {
  (void)self, (void)op, (void)spec;
  abort();
}
#include "tests/plugins/base.h"
