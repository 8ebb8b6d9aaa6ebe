/* Built for another major version. */
#define PLUGIN_ID "wrong-major"
#define NOTE_MAJOR 2
#define MANIFEST_ABI "{\"major\":2,\"minor\":0,\"minorRequired\":0}"
#include "tests/plugins/base.h"
