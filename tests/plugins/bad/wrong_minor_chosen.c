/* Chooses a minor that was not offered. */
#define PLUGIN_ID "wrong-minor-chosen"
#define ENTRY_LAST reply->minor_chosen = 44;
#include "tests/plugins/base.h"
