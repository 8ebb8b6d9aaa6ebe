/* Stops the process while it is loaded, with every signal blocked. */
#define PLUGIN_ID "constructor-stops"
#define _GNU_SOURCE
#include <signal.h>
#include "tests/plugins/base.h"
__attribute__((constructor)) static void stop(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  raise(SIGSTOP);
}
