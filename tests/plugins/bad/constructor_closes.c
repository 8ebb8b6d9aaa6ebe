/* Closes every descriptor it can think of while it is loaded. */
#define PLUGIN_ID "constructor-closes"
#include <unistd.h>
#include "tests/plugins/base.h"
__attribute__((constructor)) static void close_all(void) {
  for (int fd = 0; fd < 256; ++fd) close(fd);
}
