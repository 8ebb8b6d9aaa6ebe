/* Nothing is wrong with this one. */
#define PLUGIN_ID "good"
#include "tests/plugins/base.h"
