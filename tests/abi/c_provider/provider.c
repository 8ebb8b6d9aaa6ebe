/* The whole core table in C11 against berth/abi.h alone: the contract does not lean on C++.
 *
 * Sandboxes are entries of a small table. Every operation completes inside its slot, but for `run`,
 * which goes to a lent thread and waits there for its reader. Not an example of good storage: an
 * example of the obligations. */
#include "berth/abi.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define SANDBOXES_MAX 16
#define FILE_BYTES_MAX 4096

enum kind { FREE = 0, SANDBOX, FENCED };

struct sandbox {
  enum kind kind;
  char name[BERTH_NAME_MAX_BYTES + 1];
  char tag[BERTH_NAME_MAX_BYTES + 1];
  char path[128];
  uint8_t file[FILE_BYTES_MAX];
  uint64_t file_bytes;
  uint32_t file_mode;
};

struct provider {
  pthread_mutex_t mutex;
  const berth_host_v1* host;
  int is_open;
  struct sandbox sandboxes[SANDBOXES_MAX];
};

struct run_task {
  struct provider* provider;
  berth_op op;
  const berth_command* command;
};

static struct provider the_provider = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct run_task the_task; /* concurrency of the manifest allows one run for this test */

static berth_str text(const char* s) {
  berth_str out = {s, strlen(s)};
  return out;
}

static int same(berth_str a, const char* b) {
  return a.len == strlen(b) && (a.len == 0 || memcmp(a.ptr, b, a.len) == 0);
}

static void complete(struct provider* p, berth_op op, berth_outcome_class outcome_class,
                     berth_code code, const char* message, const void* result) {
  berth_outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  outcome.struct_size = sizeof outcome;
  outcome.outcome_class = outcome_class;
  outcome.code = code;
  outcome.message = text(message);
  outcome.result = result;
  p->host->op_complete(p->host->ctx, op, &outcome);
}

static void done(struct provider* p, berth_op op, const void* result) {
  complete(p, op, BERTH_DONE, BERTH_CODE_NONE, "", result);
}

static const berth_pair scope_fields[] = {{{"account", 7}, {"c", 1}}};
static const berth_pair_list the_scope = {scope_fields, 1};

/* The entry of this name, or NULL. Under the mutex. */
static struct sandbox* find(struct provider* p, berth_str name) {
  for (int i = 0; i < SANDBOXES_MAX; ++i)
    if (p->sandboxes[i].kind != FREE && same(name, p->sandboxes[i].name)) return &p->sandboxes[i];
  return NULL;
}

/* A new entry, or NULL when there is no room or the name is too long. Under the mutex. */
static struct sandbox* add(struct provider* p, berth_str name, enum kind kind) {
  if (name.len > BERTH_NAME_MAX_BYTES) return NULL;
  for (int i = 0; i < SANDBOXES_MAX; ++i) {
    struct sandbox* s = &p->sandboxes[i];
    if (s->kind != FREE) continue;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    memcpy(s->name, name.ptr, name.len);
    return s;
  }
  return NULL;
}

static int refuse_closed(struct provider* p, berth_op op) {
  if (p->is_open) return 0;
  complete(p, op, BERTH_REJECTED, BERTH_CODE_UNAVAILABLE, "the provider is not open [OPEN-001]",
           NULL);
  return 1;
}

static void slot_open(void* self, berth_op op, const berth_open_spec* spec) {
  struct provider* p = self;
  if (spec->struct_size < sizeof *spec || spec->reserved != 0) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_INVALID_ARGUMENT,
             "the open spec is not that of ABI 1.0", NULL);
    return;
  }
  p->is_open = 1;
  p->host->op_stage(p->host->ctx, op, text("opening"));
  done(p, op, NULL);
}

static const void* slot_get_extension(void* self, berth_str id) {
  (void)self;
  (void)id;
  return NULL;
}

static void slot_probe(void* self, berth_op op) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  berth_probe_item item;
  memset(&item, 0, sizeof item);
  item.struct_size = sizeof item;
  item.ok = 1;
  item.name = text("memory");
  item.detail = text("a static table");
  berth_probe_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.usable = 1;
  result.backend = text("c");
  result.items = &item;
  result.item_count = 1;
  done(p, op, &result);
}

static void slot_scope(void* self, berth_op op) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  berth_scope_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.fields = the_scope;
  done(p, op, &result);
}

static void slot_create(void* self, berth_op op, berth_str name, const berth_create_spec* spec) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  struct sandbox* s = find(p, name);
  const int fenced = s != NULL && s->kind == FENCED;
  if (s == NULL) {
    s = add(p, name, SANDBOX);
    if (s != NULL && spec->owner_tag.len <= BERTH_NAME_MAX_BYTES)
      memcpy(s->tag, spec->owner_tag.ptr, spec->owner_tag.len);
  }
  pthread_mutex_unlock(&p->mutex);
  if (fenced) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_CONFLICT, "the name is fenced", NULL);
    return;
  }
  if (s == NULL) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_QUOTA, "the table is full", NULL);
    return;
  }
  berth_create_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.name = text(s->name);
  result.ref = text(s->name);
  result.scope = the_scope;
  done(p, op, &result);
}

static void answer_found(struct provider* p, berth_op op, const struct sandbox* s,
                         berth_presence absent) {
  berth_lookup_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.presence = absent;
  if (s != NULL && s->kind == SANDBOX) {
    result.presence = BERTH_PRESENCE_PRESENT;
    result.state = BERTH_STATE_READY;
    result.name = text(s->name);
    result.ref = text(s->name);
    result.scope = the_scope;
  }
  done(p, op, &result);
}

static void slot_lookup(void* self, berth_op op, berth_str name) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  const struct sandbox* s = find(p, name);
  pthread_mutex_unlock(&p->mutex);
  answer_found(p, op, s, BERTH_PRESENCE_ABSENT_NOW);
}

static void slot_fence(void* self, berth_op op, berth_str name) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  const struct sandbox* s = find(p, name);
  if (s == NULL) s = add(p, name, FENCED);
  pthread_mutex_unlock(&p->mutex);
  answer_found(p, op, s, s == NULL ? BERTH_PRESENCE_UNKNOWN : BERTH_PRESENCE_ABSENT_FENCED);
}

/* Echoes argv, then standard input: on a lent thread, because it may have to wait. */
static void run_on_lent_thread(void* user) {
  struct run_task* task = user;
  const berth_host_v1* host = task->provider->host;
  berth_run_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.cause = BERTH_CAUSE_EXITED;
  int sending = 1;
  uint8_t buffer[64];
  uint64_t argument = 0;
  for (;;) {
    berth_bytes bytes = {buffer, 0};
    if (argument < task->command->argv.count) {
      const berth_str word = task->command->argv.items[argument++];
      bytes.ptr = (const uint8_t*)word.ptr;
      bytes.len = word.len;
    } else if (task->command->stdin_source == BERTH_STDIN_INPUT) {
      const berth_input_status status =
          host->input(host->ctx, task->op, buffer, sizeof buffer, &bytes.len);
      if (status == BERTH_INPUT_AGAIN) {
        host->op_wait(host->ctx, task->op, 0);
        continue;
      }
      if (status != BERTH_INPUT_DATA) break;
    } else {
      break;
    }
    result.stdout_bytes += bytes.len;
    if (!sending) continue;
    const berth_flow flow = host->output(host->ctx, task->op, BERTH_STREAM_STDOUT, bytes);
    if (flow == BERTH_OUTPUT_PAUSE) host->op_wait(host->ctx, task->op, 0);
    if (flow == BERTH_OUTPUT_LIMIT) sending = 0;
    if (flow == BERTH_OUTPUT_CANCELLED || host->op_cancelled(host->ctx, task->op)) {
      result.cause = BERTH_CAUSE_CANCELLED;
      break;
    }
  }
  if (result.cause != BERTH_CAUSE_EXITED) result.exit_code = -1;
  done(task->provider, task->op, &result);
}

static void slot_run(void* self, berth_op op, berth_str ref, const berth_command* command) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  const struct sandbox* s = find(p, ref);
  pthread_mutex_unlock(&p->mutex);
  if (s == NULL || s->kind != SANDBOX) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_NOT_FOUND, "there is no such sandbox", NULL);
    return;
  }
  the_task.provider = p;
  the_task.op = op;
  the_task.command = command;
  if (!p->host->post_blocking(p->host->ctx, run_on_lent_thread, &the_task))
    complete(p, op, BERTH_REJECTED, BERTH_CODE_UNAVAILABLE, "the host lends no thread", NULL);
}

static void slot_put_file(void* self, berth_op op, berth_str ref, const berth_put_file_spec* spec) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  uint8_t bytes[FILE_BYTES_MAX];
  uint64_t size = 0;
  if (spec->size_bytes > sizeof bytes || spec->path.len >= sizeof p->sandboxes[0].path) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_QUOTA, "the file is too large", NULL);
    return;
  }
  for (;;) {
    uint64_t got = 0;
    uint8_t piece[32];
    const berth_input_status status = p->host->input(p->host->ctx, op, piece, sizeof piece, &got);
    if (status != BERTH_INPUT_DATA) break;
    if (size + got > sizeof bytes) break;
    memcpy(bytes + size, piece, got);
    size += got;
  }
  if (size != spec->size_bytes) {
    complete(p, op, BERTH_FAILED_CLEAN, BERTH_CODE_INVALID_ARGUMENT,
             "not the size that was promised", NULL);
    return;
  }
  pthread_mutex_lock(&p->mutex);
  struct sandbox* s = find(p, ref);
  if (s != NULL) {
    memset(s->path, 0, sizeof s->path);
    memcpy(s->path, spec->path.ptr, spec->path.len);
    memcpy(s->file, bytes, size);
    s->file_bytes = size;
    s->file_mode = spec->mode == 0 ? 0644u : spec->mode;
  }
  pthread_mutex_unlock(&p->mutex);
  if (s == NULL)
    complete(p, op, BERTH_REJECTED, BERTH_CODE_NOT_FOUND, "there is no such sandbox", NULL);
  else
    done(p, op, NULL);
}

static void slot_get_file(void* self, berth_op op, berth_str ref, const berth_get_file_spec* spec) {
  struct provider* p = self;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  const struct sandbox* s = find(p, ref);
  const int there = s != NULL && s->path[0] != '\0' && same(spec->path, s->path);
  pthread_mutex_unlock(&p->mutex);
  if (!there) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_NOT_FOUND, "there is no such file", NULL);
    return;
  }
  if (s->file_bytes > spec->max_bytes) {
    complete(p, op, BERTH_REJECTED, BERTH_CODE_QUOTA, "the file is larger than asked for", NULL);
    return;
  }
  const berth_bytes bytes = {s->file, s->file_bytes};
  p->host->output(p->host->ctx, op, BERTH_STREAM_FILE, bytes);
  berth_get_file_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.mode = s->file_mode;
  result.size_bytes = s->file_bytes;
  done(p, op, &result);
}

static void slot_destroy(void* self, berth_op op, berth_str name, berth_str ref) {
  struct provider* p = self;
  (void)ref;
  if (refuse_closed(p, op)) return;
  pthread_mutex_lock(&p->mutex);
  struct sandbox* s = find(p, name);
  if (s != NULL && s->kind == SANDBOX) s->kind = FREE;
  pthread_mutex_unlock(&p->mutex);
  done(p, op, NULL);
}

static void slot_list_owned(void* self, berth_op op, berth_str tag, berth_str cursor) {
  struct provider* p = self;
  (void)cursor;
  if (refuse_closed(p, op)) return;
  berth_listed items[SANDBOXES_MAX];
  memset(items, 0, sizeof items);
  berth_list_result result;
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  result.complete = 1;
  result.items = items;
  pthread_mutex_lock(&p->mutex);
  for (int i = 0; i < SANDBOXES_MAX; ++i) {
    const struct sandbox* s = &p->sandboxes[i];
    if (s->kind != SANDBOX || !same(tag, s->tag)) continue;
    berth_listed* item = &items[result.item_count++];
    item->struct_size = sizeof *item;
    item->state = BERTH_STATE_READY;
    item->name = text(s->name);
    item->ref = text(s->name);
  }
  pthread_mutex_unlock(&p->mutex);
  done(p, op, &result);
}

static void slot_shutdown(void* self, berth_op op) {
  struct provider* p = self;
  p->is_open = 0;
  done(p, op, NULL);
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

uint32_t berth_provider_entry_v1(const berth_offer* offer, berth_reply* reply) {
  if (offer->minor_min > BERTH_ABI_MINOR) {
    reply->refusal = text("the host no longer speaks minor 0 [NEG-002]");
    return 1;
  }
  the_provider.host = offer->host;
  reply->minor_chosen = BERTH_ABI_MINOR;
  reply->self = &the_provider;
  reply->provider = &table;
  return 0;
}
