/* Needs a minor version that no host has yet. */
#define PLUGIN_ID "newer-minor"
#define NOTE_MINOR 9
#define NOTE_MINOR_REQUIRED 9
#define MANIFEST_ABI "{\"major\":1,\"minor\":9,\"minorRequired\":9}"
#include "tests/plugins/base.h"
