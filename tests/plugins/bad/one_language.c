/* Promises one of the two languages. */
#define PLUGIN_ID "one-language"
#define MANIFEST_LANGUAGES "[\"python\"]"
#include "tests/plugins/base.h"
