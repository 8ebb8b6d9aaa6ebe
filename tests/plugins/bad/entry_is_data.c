/* The symbol of the entry is a variable. */
#define PLUGIN_ID "entry-is-data"
#define OWN_ENTRY
#include "tests/plugins/base.h"
__asm__(
    ".pushsection .data\n.globl berth_provider_entry_v1\n.type berth_provider_entry_v1,@object\n"
    "berth_provider_entry_v1: .quad 0\n.size berth_provider_entry_v1,8\n.popsection");
