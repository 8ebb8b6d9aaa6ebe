/* Requires of its host what no host offers. */
#define PLUGIN_ID "host-extension"
#define MANIFEST_HOST_EXTENSIONS "[\"berth.telepathy/1\"]"
#include "tests/plugins/base.h"
