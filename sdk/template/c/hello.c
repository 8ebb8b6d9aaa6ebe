/* Sandboxes on any machine that a command such as ssh reaches, in C against berth/abi.h alone: folders
 * there, and programs in namespaces of their own. hello.sh is what is done there, shell.c how it is
 * asked; this file is when, and what to make of the answer.
 *
 * Every slot hands its work to a thread the host lends, because a shell has to be waited for. The
 * arguments of an operation live until it is completed, so the work reads them where they are. Long
 * because it is the whole table in one piece. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "berth/abi.h"
#include "hello_provider_texts.h"
#include "shell.h"

#define SHELL_BYTES_MAX 2048
#define SHELL_WORDS_MAX 16

struct provider {
  const berth_host_v1 *host;
  pthread_mutex_t mutex;
  int is_open;
  unsigned open_operations;
  berth_op shutdown; /* waits for the last operation; 0: none */
  unsigned runs;
  char shell_text[SHELL_BYTES_MAX]; /* the words of `shell`, each with its end */
  char *shell[SHELL_WORDS_MAX + 1];
  char shell_shown[SHELL_BYTES_MAX];
  char folder[BERTH_PATH_MAX_BYTES + 1];
};

struct task {
  struct provider *provider;
  void (*work)(const struct task *);
  berth_op op;
  berth_str name; /* or the reference, or the tag */
  berth_str more; /* the cursor */
  const void *spec;
};

static struct provider the_provider = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static berth_str text(const char *string) {
  const berth_str out = {string, strlen(string)};
  return out;
}

/* ---- answers */

static void end(const struct task *t, berth_outcome_class outcome_class, berth_code code,
                const char *message, const void *result) {
  berth_outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  outcome.struct_size = sizeof outcome;
  outcome.outcome_class = outcome_class;
  outcome.code = code;
  outcome.message = text(message);
  outcome.result = result;
  t->provider->host->op_complete(t->provider->host->ctx, t->op, &outcome);
}

static void done(const struct task *t, const void *result) {
  end(t, BERTH_DONE, BERTH_CODE_NONE, "", result);
}

static void rejected(const struct task *t, berth_code code, const char *message) {
  end(t, BERTH_REJECTED, code, message, NULL);
}

static void uncertain(const struct task *t, const char *message) {
  end(t, BERTH_UNCERTAIN, BERTH_CODE_UNAVAILABLE, message, NULL);
}

static berth_pair_list scope_of(struct provider *p, berth_pair pairs[2]) {
  pairs[0].key = text("shell");
  pairs[0].value = text(p->shell_shown);
  pairs[1].key = text("folder");
  pairs[1].value = text(p->folder);
  const berth_pair_list list = {pairs, 2};
  return list;
}

/* ---- asking */

static struct text line_of(struct provider *p, const char *function, berth_str name) {
  struct text line = {NULL, 0, 0, 0};
  add(&line, "exec sh -c", 10);
  add_word(&line, text(hello_sh));
  add(&line, " berth ", 7);
  add(&line, function, strlen(function));
  add_word(&line, text(p->folder));
  add_word(&line, name);
  return line;
}

static struct call call_of(const struct task *t, const struct text *line) {
  struct call call;
  memset(&call, 0, sizeof call);
  call.host = t->provider->host;
  call.op = t->op;
  call.shell = t->provider->shell;
  call.line = line->ptr;
  call.where = KEEP;
  return call;
}

/* Says the line, and gives it back. A shell that could not be started was not heard. */
static void ask(const struct task *t, struct text *line, int in_any_case, struct heard *heard) {
  struct call call = call_of(t, line);
  call.in_any_case = in_any_case;
  call.timeout_ns = in_any_case ? 20000000000u : 0;
  memset(heard, 0, sizeof *heard);
  heard->code = -1;
  if (!line->failed) talk(&call, heard);
  free(line->ptr);
}

/* ---- the work of each slot, on a lent thread */

static void do_probe(const struct task *t) {
  struct heard heard;
  struct text line = line_of(t->provider, "probe", text(""));
  ask(t, &line, 0, &heard);
  berth_probe_item items[8];
  berth_probe_result result;
  memset(items, 0, sizeof items);
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.usable = heard.code == 0;
  result.backend = text("a shell");
  result.items = items;
  char *rest = heard.text;
  for (char *said; result.item_count < 8 && (said = strsep(&rest, "\n")) != NULL && *said != '\0';) {
    berth_probe_item *item = &items[result.item_count++];
    char *detail = strstr(said, " yes ");
    item->struct_size = sizeof *item;
    item->ok = detail != NULL;
    item->detail = text(detail != NULL ? detail + 5 : "not there");
    said[strcspn(said, " ")] = '\0';
    item->name = text(said);
    if (item->ok) continue;
    result.usable = 0;
    item->remedy = text("install or allow it on the other side");
  }
  done(t, &result);
}

static void do_scope(const struct task *t) {
  berth_pair pairs[2];
  berth_scope_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.fields = scope_of(t->provider, pairs);
  done(t, &result);
}

static int asks_for_any(const berth_limits *l) {
  return l != NULL && (l->cpu_millis || l->memory_bytes || l->cpu_time_ns || l->disk_bytes ||
                       l->file_size_bytes || l->processes || l->open_files);
}

/* The environment as words of a shell, in one word. */
static void add_environment(struct text *line, berth_pair_list env) {
  struct text words = {NULL, 0, 0, 0};
  for (uint64_t i = 0; i < env.count; ++i) {
    struct text pair = {NULL, 0, 0, 0};
    add(&pair, env.items[i].key.ptr, env.items[i].key.len);
    add(&pair, "=", 1);
    add(&pair, env.items[i].value.ptr, env.items[i].value.len);
    const berth_str word = {pair.ptr, pair.len};
    add_word(&words, word);
    line->failed |= pair.failed;
    free(pair.ptr);
  }
  const berth_str word = {words.ptr, words.len};
  add_word(line, word);
  line->failed |= words.failed;
  free(words.ptr);
}

static void do_create(const struct task *t) {
  const berth_create_spec *spec = t->spec;
  if (spec->image.len != 0 || asks_for_any(spec->limits) || spec->network != BERTH_NETWORK_NONE) {
    rejected(t, BERTH_CODE_UNSUPPORTED, "no images, limits or networks here: ask for none");
    return;
  }
  struct heard heard;
  struct text line = line_of(t->provider, "create", t->name);
  add_word(&line, spec->owner_tag);
  add_environment(&line, spec->env);
  add_number(&line, spec->lifetime_ns / 1000000000u + (spec->lifetime_ns % 1000000000u != 0));
  add_word(&line, text(hello_sh));
  ask(t, &line, 0, &heard);
  if (heard.code == 4) {
    rejected(t, BERTH_CODE_CONFLICT, "the name was ended or fenced; take a new one");
    return;
  }
  if (heard.code != 0) {
    uncertain(t, "the other side did not say that it is made");
    return;
  }
  berth_pair pairs[2];
  berth_create_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.name = t->name;
  result.ref = t->name;
  result.scope = scope_of(t->provider, pairs);
  done(t, &result);
}

static void find(const struct task *t, const char *how, berth_presence absent) {
  struct heard heard;
  struct text line = line_of(t->provider, how, t->name);
  ask(t, &line, 0, &heard);
  berth_pair pairs[2];
  berth_lookup_result result; /* says that it is not known, as long as nothing else was heard */
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  if (heard.code == 4) result.presence = absent;
  if (heard.code == 3) {
    result.presence = BERTH_PRESENCE_PRESENT;
    result.state = BERTH_STATE_READY;
    result.name = t->name;
    result.ref = t->name;
    result.scope = scope_of(t->provider, pairs);
  }
  done(t, &result);
}

static void do_lookup(const struct task *t) { find(t, "lookup", BERTH_PRESENCE_ABSENT_NOW); }
static void do_fence(const struct task *t) { find(t, "fence", BERTH_PRESENCE_ABSENT_FENCED); }

static int is_there(const struct task *t) {
  struct heard heard;
  struct text line = line_of(t->provider, "lookup", t->name);
  ask(t, &line, 0, &heard);
  if (heard.code != 4) return 1;
  rejected(t, BERTH_CODE_NOT_FOUND, "there is no such sandbox");
  return 0;
}

/* Runs a program in the sandbox; its output goes where `where` says. Returns what it did, 0 when the
 * operation was completed here because it did not start. The cause comes from what was written down
 * over there, never from the shell's exit code. [RUN-003] */
static int run(const struct task *t, const berth_command *what, enum where where, struct heard *heard,
               berth_run_result *result) {
  struct provider *p = t->provider;
  char id[48];
  pthread_mutex_lock(&p->mutex);
  snprintf(id, sizeof id, "%d-%u", (int)getpid(), ++p->runs);
  pthread_mutex_unlock(&p->mutex);
  struct text line = line_of(p, "run", t->name), stop = line_of(p, "stop", t->name);
  add_word(&line, text(id));
  add_word(&stop, text(id));
  add_word(&line, what->cwd.len == 0 ? text("/work") : what->cwd);
  for (uint64_t i = 0; i < what->env.count; ++i) {
    struct text pair = {NULL, 0, 0, 0};
    add(&pair, what->env.items[i].key.ptr, what->env.items[i].key.len);
    add(&pair, "=", 1);
    add(&pair, what->env.items[i].value.ptr, what->env.items[i].value.len);
    const berth_str word = {pair.ptr, pair.len};
    add_word(&line, word);
    line.failed |= pair.failed;
    free(pair.ptr);
  }
  add_word(&line, text("--"));
  for (uint64_t i = 0; i < what->argv.count; ++i) add_word(&line, what->argv.items[i]);
  struct call call = call_of(t, &line);
  call.stop_line = stop.ptr;
  call.where = where;
  call.takes_input = what->stdin_source == BERTH_STDIN_INPUT;
  call.timeout_ns = what->timeout_ns;
  const int begun = !line.failed && !stop.failed && talk(&call, heard);
  free(line.ptr);
  free(stop.ptr);
  if (!begun) {
    rejected(t, BERTH_CODE_UNAVAILABLE, "the shell cannot be started; correct `shell`");
    return 0;
  }
  struct heard told;
  struct text ended = line_of(p, "ended", t->name);
  add_word(&ended, text(id));
  ask(t, &ended, 1, &told);
  if (strncmp(told.text, "no ", 3) == 0) {
    rejected(t, BERTH_CODE_NOT_FOUND, told.text + 3);
    return 0;
  }
  memset(result, 0, sizeof *result);
  result->struct_size = sizeof *result;
  result->exit_code = -1;
  result->cause = heard->cause;
  result->stdout_bytes = heard->stdout_bytes;
  result->stderr_bytes = heard->stderr_bytes;
  if (result->cause != BERTH_CAUSE_UNKNOWN) return 1;
  char *rest = told.text;
  const long status = strtol(told.text, &rest, 10);
  result->cause = rest == told.text ? BERTH_CAUSE_LOST : status < 0 ? BERTH_CAUSE_SIGNALLED : BERTH_CAUSE_EXITED;
  if (result->cause == BERTH_CAUSE_EXITED) result->exit_code = (int32_t)status;
  if (result->cause == BERTH_CAUSE_SIGNALLED) result->signal = (uint32_t)-status;
  return 1;
}

static void do_run(const struct task *t) {
  const berth_command *what = t->spec;
  struct heard heard;
  berth_run_result result;
  if (asks_for_any(what->limits)) {
    rejected(t, BERTH_CODE_UNSUPPORTED, "no limits here: ask for none");
    return;
  }
  if (what->stdin_source > BERTH_STDIN_INPUT) {
    rejected(t, BERTH_CODE_UNSUPPORTED, "no such source of input here: give none, or bytes");
    return;
  }
  if (is_there(t) && run(t, what, STREAMS, &heard, &result)) done(t, &result);
}

/* A command inside the sandbox for the provider's own ends. */
static int run_inside(const struct task *t, const berth_str *argv, uint64_t count, int takes_input,
                      enum where where, struct heard *heard, berth_run_result *result) {
  berth_command what;
  memset(&what, 0, sizeof what);
  what.struct_size = sizeof what;
  what.stdin_source = takes_input ? BERTH_STDIN_INPUT : BERTH_STDIN_EMPTY;
  what.argv.items = argv;
  what.argv.count = count;
  return run(t, &what, where, heard, result);
}

static void do_put_file(const struct task *t) {
  const berth_put_file_spec *spec = t->spec;
  char mode[16], size[24];
  snprintf(mode, sizeof mode, "%o", spec->mode == 0 ? 0644u : spec->mode);
  snprintf(size, sizeof size, "%llu", (unsigned long long)spec->size_bytes);
  const berth_str argv[] = {
      text("/bin/sh"), text("-c"),
      text("set -e; umask 077; mkdir -p -- \"$(dirname -- \"$1\")\"; t=\"$1.berth-$$\"; "
           "trap 'rm -f -- \"$t\"' EXIT; cat > \"$t\"; test \"$(wc -c < \"$t\")\" -eq \"$3\"; "
           "chmod \"$2\" \"$t\"; mv -f -- \"$t\" \"$1\""),
      text("put_file"), spec->path, text(mode), text(size)};
  struct heard heard;
  berth_run_result result;
  if (!is_there(t) || !run_inside(t, argv, 7, 1, KEEP, &heard, &result)) return;
  if (result.cause == BERTH_CAUSE_EXITED && result.exit_code == 0) done(t, NULL);
  else uncertain(t, "the other side did not say that the file is there");
}

static void do_get_file(const struct task *t) {
  const berth_get_file_spec *spec = t->spec;
  const berth_str look[] = {
      text("/bin/sh"), text("-c"),
      text("test -e \"$1\" || exit 3; test -f \"$1\" || exit 4; stat -L -c '%a %s' -- \"$1\""),
      text("get_file"), spec->path};
  const berth_str read_it[] = {text("cat"), text("--"), spec->path};
  struct heard heard;
  berth_run_result run_result;
  berth_get_file_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  if (!is_there(t) || !run_inside(t, look, 5, 0, KEEP, &heard, &run_result)) return;
  if (run_result.cause == BERTH_CAUSE_EXITED && run_result.exit_code == 3) {
    rejected(t, BERTH_CODE_NOT_FOUND, "there is no such file in the sandbox");
    return;
  }
  if (run_result.cause == BERTH_CAUSE_EXITED && run_result.exit_code == 4) {
    rejected(t, BERTH_CODE_INVALID_ARGUMENT, "it is not a regular file");
    return;
  }
  unsigned mode = 0;
  unsigned long long size = 0;
  if (run_result.exit_code != 0 || sscanf(heard.text, "%o %llu", &mode, &size) != 2) {
    uncertain(t, "the file could not be looked at");
    return;
  }
  result.mode = mode;
  result.size_bytes = size;
  if (result.size_bytes > spec->max_bytes) {
    rejected(t, BERTH_CODE_QUOTA, "the file is larger than asked for");
    return;
  }
  if (!run_inside(t, read_it, 3, 0, AS_FILE, &heard, &run_result)) return;
  if (run_result.exit_code == 0 && heard.stdout_bytes == result.size_bytes) done(t, &result);
  else uncertain(t, "the file changed or went away while it was read");
}

static void do_destroy(const struct task *t) {
  struct heard heard;
  struct text line = line_of(t->provider, "destroy", t->name);
  ask(t, &line, 0, &heard);
  if (heard.code == 0) done(t, NULL);
  else uncertain(t, "the other side did not say that it is gone");
}

static void do_list_owned(const struct task *t) {
  struct heard heard;
  struct text line = line_of(t->provider, "list", t->name);
  add_word(&line, t->more);
  ask(t, &line, 0, &heard);
  if (heard.code != 0) {
    uncertain(t, "the folder was not listed");
    return;
  }
  berth_listed items[64];
  berth_list_result result;
  memset(items, 0, sizeof items);
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.complete = 1;
  result.items = items;
  char *rest = heard.text;
  for (char *name; result.item_count < 64 && (name = strsep(&rest, "\n")) != NULL && rest != NULL;) {
    if (*name == '\0') {
      result.complete = 0;
      result.next_cursor = items[result.item_count - 1].name;
      break;
    }
    berth_listed *item = &items[result.item_count++];
    item->struct_size = sizeof *item;
    item->state = BERTH_STATE_READY;
    item->name = text(name);
    item->ref = item->name;
  }
  done(t, &result);
}

/* ---- operations */

static void leave(struct provider *p) {
  pthread_mutex_lock(&p->mutex);
  const berth_op closing = --p->open_operations == 0 ? p->shutdown : 0;
  if (closing != 0) p->shutdown = 0;
  pthread_mutex_unlock(&p->mutex);
  const struct task last = {.provider = p, .op = closing};
  if (closing != 0) done(&last, NULL);
}

static void on_lent_thread(void *user) {
  struct task *t = user;
  struct provider *p = t->provider;
  t->work(t);
  free(t);
  leave(p);
}

static void start(void *self, berth_op op, void (*work)(const struct task *), berth_str name,
                  berth_str more, const void *spec) {
  struct provider *p = self;
  const struct task task = {p, work, op, name, more, spec};
  pthread_mutex_lock(&p->mutex);
  const int is_open = p->is_open;
  if (is_open) ++p->open_operations;
  pthread_mutex_unlock(&p->mutex);
  if (!is_open) {
    rejected(&task, BERTH_CODE_UNAVAILABLE, "the provider is not open [OPEN-001]");
    return;
  }
  struct task *kept = malloc(sizeof *kept);
  if (kept != NULL) *kept = task;
  if (kept != NULL && p->host->post_blocking(p->host->ctx, on_lent_thread, kept)) return;
  free(kept);
  rejected(&task, BERTH_CODE_UNAVAILABLE, "there is no thread for it now");
  leave(p);
}

/* ---- slots */

struct texts {
  char *at, *end;
  int words, inside, failed;
  char **starts;
  int words_max;
};

/* The texts of a configuration value, which arrives as JSON the host has checked against the schema. */
static void take_texts(void *user, const char *ptr, uint64_t len) {
  struct texts *texts = user;
  for (uint64_t i = 0; i < len; ++i) {
    if (ptr[i] == '\\' || texts->at == texts->end) texts->failed = 1;
    if (texts->failed) return;
    if (ptr[i] == '"') {
      texts->inside = !texts->inside;
      if (texts->inside && texts->words == texts->words_max) texts->failed = 1;
      else if (texts->inside) texts->starts[texts->words++] = texts->at;
      else *texts->at++ = '\0';
    } else if (texts->inside) {
      *texts->at++ = ptr[i];
    }
  }
}

static int configured(struct provider *p, const char *key, char *buffer, size_t size, char **words,
                      int words_max) {
  struct texts texts = {buffer, buffer + size, 0, 0, 0, words, words_max};
  p->host->config_get(p->host->ctx, text(key), take_texts, &texts);
  return texts.failed ? -1 : texts.words;
}

static void slot_open(void *self, berth_op op, const berth_open_spec *spec) {
  struct provider *p = self;
  const struct task t = {.provider = p, .op = op};
  char *folder = NULL;
  static char sh[] = "sh", c[] = "-c";
  memset(p->shell, 0, sizeof p->shell);
  const int words = configured(p, "shell", p->shell_text, sizeof p->shell_text, p->shell, SHELL_WORDS_MAX);
  const int folders = configured(p, "folder", p->folder, sizeof p->folder, &folder, 1);
  if (words < 0 || folders < 0 || spec->state_dir.len + 16 > sizeof p->folder) {
    rejected(&t, BERTH_CODE_INVALID_ARGUMENT, "write shell and folder shorter, without quotes and backslashes");
    return;
  }
  if (words == 0) {
    p->shell[0] = sh;
    p->shell[1] = c;
  }
  if (folders == 0)
    snprintf(p->folder, sizeof p->folder, "%.*s/sandboxes", (int)spec->state_dir.len, spec->state_dir.ptr);
  p->shell_shown[0] = '\0';
  for (char **word = p->shell; *word != NULL; ++word) {
    if (word != p->shell) strcat(p->shell_shown, " ");
    strcat(p->shell_shown, *word);
  }
  pthread_mutex_lock(&p->mutex);
  p->is_open = 1;
  pthread_mutex_unlock(&p->mutex);
  done(&t, NULL);
}

static const void *slot_get_extension(void *self, berth_str id) {
  (void)self;
  (void)id;
  return NULL;
}

static const berth_str nothing = {NULL, 0};

static void slot_probe(void *self, berth_op op) { start(self, op, do_probe, nothing, nothing, NULL); }
static void slot_scope(void *self, berth_op op) { start(self, op, do_scope, nothing, nothing, NULL); }
static void slot_create(void *self, berth_op op, berth_str name, const berth_create_spec *spec) {
  start(self, op, do_create, name, nothing, spec);
}
static void slot_lookup(void *self, berth_op op, berth_str name) {
  start(self, op, do_lookup, name, nothing, NULL);
}
static void slot_fence(void *self, berth_op op, berth_str name) {
  start(self, op, do_fence, name, nothing, NULL);
}
static void slot_run(void *self, berth_op op, berth_str ref, const berth_command *command) {
  start(self, op, do_run, ref, nothing, command);
}
static void slot_put_file(void *self, berth_op op, berth_str ref, const berth_put_file_spec *spec) {
  start(self, op, do_put_file, ref, nothing, spec);
}
static void slot_get_file(void *self, berth_op op, berth_str ref, const berth_get_file_spec *spec) {
  start(self, op, do_get_file, ref, nothing, spec);
}
static void slot_destroy(void *self, berth_op op, berth_str name, berth_str ref) {
  start(self, op, do_destroy, name, ref, NULL);
}
static void slot_list_owned(void *self, berth_op op, berth_str owner_tag, berth_str cursor) {
  start(self, op, do_list_owned, owner_tag, cursor, NULL);
}

static void slot_shutdown(void *self, berth_op op) {
  struct provider *p = self;
  const struct task t = {.provider = p, .op = op};
  pthread_mutex_lock(&p->mutex);
  p->is_open = 0;
  const int now = p->open_operations == 0;
  if (!now) p->shutdown = op;
  pthread_mutex_unlock(&p->mutex);
  if (now) done(&t, NULL);
}

static const berth_provider_v1 table = {
    .struct_size = sizeof(berth_provider_v1),
    .open = slot_open,
    .get_extension = slot_get_extension,
    .probe = slot_probe,
    .scope = slot_scope,
    .create = slot_create,
    .lookup = slot_lookup,
    .fence = slot_fence,
    .run = slot_run,
    .put_file = slot_put_file,
    .get_file = slot_get_file,
    .destroy = slot_destroy,
    .list_owned = slot_list_owned,
    .shutdown = slot_shutdown,
};

uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  if (offer->minor_min > BERTH_ABI_MINOR) {
    reply->refusal = text("the host no longer speaks the minor this was built with [NEG-002]");
    return 1;
  }
  if (offer->host->struct_size < sizeof(berth_host_v1)) {
    reply->refusal = text("the host's table is smaller than that of ABI 1.0 [NEG-007]");
    return 1;
  }
  the_provider.host = offer->host;
  reply->minor_chosen = BERTH_ABI_MINOR;
  reply->self = &the_provider;
  reply->provider = &table;
  return 0;
}
