/* What the programs of a build with sanitizers ask of the sanitizers' runtime. In the programs themselves, because
 * much of what runs here is started without an environment. An environment variable (TSAN_OPTIONS and its like)
 * still has the last word. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define BERTH_ASKED_FOR __attribute__((visibility("default"), used))

const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);

/* What crashes shall end by its signal, as it does without: tests look at how a process ended. */
BERTH_ASKED_FOR const char *__asan_default_options(void) {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}

/* A race ends the process where it is found: one that has told its result before it ends has an exit code that
 * nobody looks at. */
BERTH_ASKED_FOR const char *__tsan_default_options(void) {
  return "halt_on_error=1:second_deadlock_stack=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}

BERTH_ASKED_FOR const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }

/* g++ links a runtime for each sanitizer, and the functions of both have the same names: where AddressSanitizer's is
 * there too, the other one sets its log_path there, and writes its own findings to stderr, which nobody may read.
 * It is told in the library itself. */
__attribute__((constructor)) static void tell_ubsan_where_its_log_is(void) {
  static char path[4096];
  const char *options = getenv("UBSAN_OPTIONS");
  const char *found = options != NULL ? strstr(options, "log_path=") : NULL;
  if (found == NULL) return;
  found += strlen("log_path=");
  const size_t length = strcspn(found, ": ,\t\n");
  if (length >= sizeof path) return;
  memcpy(path, found, length);
  void *library = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return;
  void (*set)(const char *);
  void *symbol = dlsym(library, "__sanitizer_set_report_path");
  memcpy(&set, &symbol, sizeof set);
  if (set != NULL) set(path);
  dlclose(library);
}
