/* A reserved field of the reply is not zero. */
#define PLUGIN_ID "reserved-not-zero"
#define ENTRY_LAST reply->reserved = 1;
#include "tests/plugins/base.h"
