/* Prints while it is loaded, without a line's end too. */
#define PLUGIN_ID "constructor-prints"
#include "tests/plugins/base.h"
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void print(void) {
  printf("hello from a constructor\n");
  if (write(1, "and past stdio", 14) != 14) _exit(1);
}
