/* The entry is chosen by a function that runs while the library is loaded. */
#define PLUGIN_ID "entry-is-ifunc"
#define OWN_ENTRY
#include "tests/plugins/base.h"
__attribute__((used)) static void *berth_test_choose(void) { return (void *)0; }
__asm__(
    ".globl berth_provider_entry_v1\n.type berth_provider_entry_v1,@gnu_indirect_function\n"
    ".set berth_provider_entry_v1,berth_test_choose");
