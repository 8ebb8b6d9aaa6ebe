/* The manifest promises a fence and the slot is empty. */
#define PLUGIN_ID "fence-missing"
#define MANIFEST_RECOVERY "fence"
#include "tests/plugins/base.h"
