/* Shows a second name; linked without the version script. */
#define PLUGIN_ID "extra-exports"
#include "tests/plugins/base.h"
__attribute__((visibility("default"))) int parse_json(void);
int parse_json(void) { return 1; }
