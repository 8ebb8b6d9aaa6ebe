/* The abi note and the manifest name different minors. */
#define PLUGIN_ID "disagreeing-note"
#define MANIFEST_ABI "{\"major\":1,\"minor\":3,\"minorRequired\":0}"
#include "tests/plugins/base.h"
