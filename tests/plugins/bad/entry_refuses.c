/* The entry refuses every host. */
#define PLUGIN_ID "entry-refuses"
#define ENTRY_LAST                                                        \
  static const char why[] = "this build works on tuesdays only";          \
  reply->refusal.ptr = why;                                               \
  reply->refusal.len = sizeof why - 1;                                    \
  if (offer) return 7;
#include "tests/plugins/base.h"
