/* A command of this machine as the work of an operation: one script with its arguments, given to a
 * shell that may be on another machine. */
#ifndef SHELL_H
#define SHELL_H

#include <stddef.h>

#include "berth/abi.h"

/* Text that grows. When there is no memory for it, `failed` stays set and nothing is added any more. */
struct text {
  char *ptr;
  size_t len, room;
  int failed;
};
void add(struct text *text, const char *bytes, size_t count);
void add_word(struct text *text, berth_str word); /* a space, then the word, quoted for a shell */
void add_number(struct text *text, uint64_t number);

enum where { KEEP, STREAMS, AS_FILE };

struct call {
  const berth_host_v1 *host;
  berth_op op;
  char *const *shell;     /* the words before the script */
  const char *line;       /* the script's last word */
  const char *stop_line;  /* said to the shell when the program has to end early; NULL: nothing */
  enum where where;       /* what becomes of its output */
  int takes_input;
  int in_any_case;        /* also when the operation is cancelled */
  uint64_t timeout_ns;    /* 0: none */
};

struct heard {
  int code;          /* its exit code; -1 when it was not heard to its end */
  berth_cause cause; /* CANCELLED or WALL when it was ended early, else UNKNOWN */
  char text[4096];   /* what it said, when that was kept; a string */
  size_t text_bytes;
  uint64_t stdout_bytes, stderr_bytes;
};

/* Waits; for lent threads only. Returns 0 when the shell could not be started: nothing was done then. */
int talk(const struct call *call, struct heard *heard);

#endif
