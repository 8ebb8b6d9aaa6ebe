/* Its code holds an absolute address. */
#define PLUGIN_ID "text-relocations"
#include "tests/plugins/base.h"
__attribute__((visibility("hidden"), used)) int berth_test_anchor = 1;
__asm__(".pushsection .text\n.balign 8\n.8byte berth_test_anchor\n.popsection");
