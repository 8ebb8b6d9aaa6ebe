/* Claims session files and has no table for them. */
#define PLUGIN_ID "claim-without-table"
#define MANIFEST_CAPABILITIES "[{\"id\":\"files.session\"}]"
#define MANIFEST_EXTENSIONS "[\"berth.files/1\"]"
#include "tests/plugins/base.h"
