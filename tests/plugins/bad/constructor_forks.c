/* Becomes a daemon while it is loaded: the child goes on with all descriptors, the parent ends. */
#define PLUGIN_ID "constructor-forks"
#include <unistd.h>
#include "tests/plugins/base.h"
__attribute__((constructor)) static void daemonize(void) {
  if (fork() > 0) _exit(0);
  sleep(60);
  _exit(0);
}
