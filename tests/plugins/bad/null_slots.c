/* Two required slots are empty. */
#define PLUGIN_ID "null-slots"
#define SLOT_RUN NULL
#define SLOT_PROBE NULL
#include "tests/plugins/base.h"
