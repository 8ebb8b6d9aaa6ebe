/* The manifest's note says it is longer than its segment. */
#define PLUGIN_ID "truncated-note"
#define MANIFEST_NOTE_BYTES 0x100000
#include "tests/plugins/base.h"
