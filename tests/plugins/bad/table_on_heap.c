/* The table is not in the library but in memory that the provider may free. */
#define PLUGIN_ID "table-on-heap"
#include <stdlib.h>
#include <string.h>
#define ENTRY_LAST                                   \
  berth_provider_v1 *copy = malloc(sizeof table);    \
  if (copy == NULL) return 1;                        \
  memcpy(copy, &table, sizeof table);                \
  reply->provider = copy;
#include "tests/plugins/base.h"
