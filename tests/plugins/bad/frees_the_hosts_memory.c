/* Frees what the host lent. */
#define PLUGIN_ID "frees-the-hosts-memory"
#include <stdlib.h>
#define SLOT_OPEN open_and_free
#define BERTH_PROVIDER_BUILD 1
#include "sdk/include/berth/abi.h"
static void open_and_free(void *self, berth_op op, const berth_open_spec *spec);
#include "tests/plugins/base.h"
static void open_and_free(void *self, berth_op op, const berth_open_spec *spec) {
  (void)self;
  free((void *)spec->state_dir.ptr);
  complete(op, NULL);
}
