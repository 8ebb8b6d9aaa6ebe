/* Built for another major version. */
#define PLUGIN_ID "wrong-major"
#define NOTE_MAJOR 2
#include "tests/plugins/base.h"
