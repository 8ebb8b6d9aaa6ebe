/* Linked with a demand for an executable stack. */
#define PLUGIN_ID "executable-stack"
#include "tests/plugins/base.h"
