#define _GNU_SOURCE
#include "shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHELL_WORDS_MAX 18
#define ASK_AGAIN_MS 50 /* for a host without descriptors, and for the program's own time */

extern char **environ;

/* The program between its start and its end. */
struct child {
  const struct call *call;
  struct heard *heard;
  pid_t pid;
  int in, out, err, exit; /* -1: closed */
  char pending[4096];     /* input that is not written yet */
  size_t pending_bytes;
  int out_limited, err_limited, cancelled, ended;
};

void add(struct text *text, const char *bytes, size_t count) {
  if (text->len + count + 1 > text->room) {
    const size_t room = (text->len + count + 1) * 2;
    char *grown = text->failed ? NULL : realloc(text->ptr, room);
    if (grown == NULL) {
      text->failed = 1;
      return;
    }
    text->ptr = grown;
    text->room = room;
  }
  memcpy(text->ptr + text->len, bytes, count);
  text->len += count;
  text->ptr[text->len] = '\0';
}

void add_word(struct text *text, berth_str word) {
  add(text, " '", 2);
  for (uint64_t i = 0; i < word.len; ++i) {
    if (word.ptr[i] == '\'') add(text, "'\\''", 4);
    else add(text, word.ptr + i, 1);
  }
  add(text, "'", 1);
}

void add_number(struct text *text, uint64_t number) {
  char digits[24];
  const int count = snprintf(digits, sizeof digits, " %llu", (unsigned long long)number);
  add(text, digits, (size_t)count);
}

static void shut(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static int start(struct child *child) {
  char *argv[SHELL_WORDS_MAX + 2];
  int words = 0;
  for (; child->call->shell[words] != NULL && words < SHELL_WORDS_MAX; ++words)
    argv[words] = child->call->shell[words];
  argv[words] = (char *)child->call->line;
  argv[words + 1] = NULL;
  int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
  int error = 0;
  for (int i = 0; i < 3; ++i)
    if (pipe2(ends[i], O_CLOEXEC) != 0) error = errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, ends[i][i == 0 ? 0 : 1], i);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (error == 0) error = posix_spawnp(&child->pid, argv[0], &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  child->in = ends[0][1];
  child->out = ends[1][0];
  child->err = ends[2][0];
  shut(&ends[0][0]);
  shut(&ends[1][1]);
  shut(&ends[2][1]);
  child->exit = error == 0 ? (int)syscall(SYS_pidfd_open, child->pid, 0) : -1;
  if (error == 0) fcntl(child->in, F_SETFL, O_NONBLOCK);
  if (!child->call->takes_input) shut(&child->in);
  return error == 0;
}

static void refill(struct child *child) {
  const struct call *call = child->call;
  if (child->in < 0 || child->pending_bytes != 0) return;
  uint64_t got = 0;
  const berth_input_status status = call->host->input(
      call->host->ctx, call->op, (uint8_t *)child->pending, sizeof child->pending, &got);
  if (status == BERTH_INPUT_DATA) child->pending_bytes = got;
  else if (status != BERTH_INPUT_AGAIN) shut(&child->in);
}

/* Signals belong to the process: the one for a program that reads no more is taken back here. */
static void feed(struct child *child) {
  sigset_t pipe_only, before;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t written = write(child->in, child->pending, child->pending_bytes);
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const struct timespec at_once = {0, 0};
    sigtimedwait(&pipe_only, NULL, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (written > 0) {
    child->pending_bytes -= (size_t)written;
    memmove(child->pending, child->pending + written, child->pending_bytes);
  } else if (error != EAGAIN && error != EINTR) {
    shut(&child->in);
  }
}

static void keep(struct heard *heard, const char *bytes, size_t count) {
  const size_t left = sizeof heard->text - 1 - heard->text_bytes;
  if (count > left) count = left;
  memcpy(heard->text + heard->text_bytes, bytes, count);
  heard->text_bytes += count;
}

static void forward(struct child *child, int is_out) {
  int *fd = is_out ? &child->out : &child->err;
  int *limited = is_out ? &child->out_limited : &child->err_limited;
  const struct call *call = child->call;
  char buffer[16384];
  const ssize_t got = read(*fd, buffer, sizeof buffer);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    shut(fd);
    return;
  }
  *(is_out ? &child->heard->stdout_bytes : &child->heard->stderr_bytes) += (uint64_t)got;
  if (call->where == KEEP && is_out) keep(child->heard, buffer, (size_t)got);
  if (call->where == KEEP || (call->where == AS_FILE && !is_out) || *limited) return;
  const berth_stream stream = call->where == AS_FILE ? BERTH_STREAM_FILE
                              : is_out               ? BERTH_STREAM_STDOUT
                                                     : BERTH_STREAM_STDERR;
  const berth_bytes bytes = {(const uint8_t *)buffer, (uint64_t)got};
  const berth_flow flow = call->host->output(call->host->ctx, call->op, stream, bytes);
  if (flow == BERTH_OUTPUT_LIMIT) *limited = 1;
  if (flow > BERTH_OUTPUT_LIMIT) child->cancelled = 1;
  if (flow == BERTH_OUTPUT_PAUSE &&
      call->host->op_wait(call->host->ctx, call->op, 0) == BERTH_WAIT_CANCELLED)
    child->cancelled = 1;
}

static int anything_left(const struct child *child) {
  struct pollfd fds[] = {{child->out, POLLIN, 0}, {child->err, POLLIN, 0}};
  return poll(fds, 2, 0) > 0;
}

/* Waits for something to do, and does it. */
static void attend(struct child *child) {
  const struct call *call = child->call;
  refill(child);
  const int wants = child->in >= 0 && child->pending_bytes == 0;
  const int has = child->in >= 0 && child->pending_bytes != 0;
  struct pollfd fds[] = {
      {child->out, POLLIN, 0},
      {child->err, POLLIN, 0},
      {has ? child->in : -1, POLLOUT, 0},
      {wants ? call->host->op_ready_fd(call->host->ctx, call->op) : -1, POLLIN, 0},
      {call->in_any_case ? -1 : call->host->op_cancel_fd(call->host->ctx, call->op), POLLIN, 0},
      {child->ended ? -1 : child->exit, POLLIN, 0}};
  poll(fds, 6, child->ended ? 0 : ASK_AGAIN_MS);
  if (fds[2].revents != 0) feed(child);
  if (fds[0].revents != 0) forward(child, 1);
  if (fds[1].revents != 0) forward(child, 0);
  if (fds[5].revents != 0) {
    child->ended = 1;
    kill(-child->pid, SIGKILL); /* what the program left running ends too */
  }
}

static berth_cause why_stop(const struct child *child, uint64_t started_ns) {
  const struct call *call = child->call;
  const berth_host_v1 *host = call->host;
  if (!call->in_any_case && (child->cancelled || host->op_cancelled(host->ctx, call->op)))
    return BERTH_CAUSE_CANCELLED;
  if (call->timeout_ns != 0 && host->now(host->ctx) - started_ns >= call->timeout_ns)
    return BERTH_CAUSE_WALL;
  return BERTH_CAUSE_UNKNOWN;
}

static void say_stop(const struct call *call) {
  if (call->stop_line == NULL) return;
  struct call stop = *call;
  struct heard ignored;
  stop.line = call->stop_line;
  stop.stop_line = NULL;
  stop.where = KEEP;
  stop.takes_input = 0;
  stop.in_any_case = 1;
  stop.timeout_ns = 20000000000u;
  talk(&stop, &ignored);
}

int talk(const struct call *call, struct heard *heard) {
  struct child child = {.call = call, .heard = heard, .pid = -1};
  memset(heard, 0, sizeof *heard);
  heard->code = -1;
  const uint64_t started_ns = call->host->now(call->host->ctx);
  const int begun = start(&child);
  while (begun && heard->cause == BERTH_CAUSE_UNKNOWN && (!child.ended || anything_left(&child))) {
    heard->cause = why_stop(&child, started_ns);
    if (heard->cause == BERTH_CAUSE_UNKNOWN) attend(&child);
  }
  if (begun) {
    if (heard->cause != BERTH_CAUSE_UNKNOWN) say_stop(call);
    /* The session goes before its leader is reaped: until then nobody else can have its number. */
    kill(-child.pid, SIGKILL);
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (heard->cause == BERTH_CAUSE_UNKNOWN && WIFEXITED(status)) heard->code = WEXITSTATUS(status);
  }
  shut(&child.in);
  shut(&child.out);
  shut(&child.err);
  shut(&child.exit);
  return begun;
}
