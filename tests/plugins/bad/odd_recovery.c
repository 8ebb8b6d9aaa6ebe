/* A recovery that no version of the contract has. */
#define PLUGIN_ID "odd-recovery"
#define MANIFEST_RECOVERY "perhaps"
#include "tests/plugins/base.h"
