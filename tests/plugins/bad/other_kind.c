/* A plugin for another sort of host. */
#define PLUGIN_ID "other-kind"
#define MANIFEST_KIND "database"
#include "tests/plugins/base.h"
