/* The table says it is smaller than version 1.0 of it. */
#define PLUGIN_ID "wrong-size"
#define TABLE_SIZE 24
#include "tests/plugins/base.h"
