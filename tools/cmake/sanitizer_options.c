/* What the programs of a build with sanitizers ask of the sanitizers' runtime. In the programs themselves, because
 * much of what runs here is started without an environment. An environment variable (TSAN_OPTIONS and its like)
 * still has the last word. */
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
