/* A host in C: loads a provider file and drives it through every slot.
 *
 * usage: c_host FILE
 *
 * In C there is nobody to catch anything, so a provider that lets an exception out of a slot or a
 * task ends this program. Works with any provider that needs no configuration; ends 0 when every
 * answer was the expected one. */
#define _GNU_SOURCE
#include "berth/abi.h"

#include <dlfcn.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_SECONDS 60
#define BYTES_MAX 4096
#define THREADS_MAX 64

struct operation {
  berth_op op;
  int completed;
  berth_outcome_class outcome_class;
  berth_code code;
  char message[256];
  char name[256];
  char ref[256];
  char out[BYTES_MAX];
  uint64_t out_bytes;
  const char* input;
  uint64_t input_bytes;
  uint64_t input_at;
  int input_held_back;
  berth_presence presence;
  berth_cause cause;
  int32_t exit_code;
  uint64_t stdout_bytes;
  uint64_t item_count;
  uint32_t usable;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct operation current;
static pthread_t threads[THREADS_MAX];
static int thread_count;
static int faults;
static char state_dir[] = "/tmp/berth-c-host-XXXXXX";

static void check(int holds, const char* sentence) {
  if (holds) return;
  ++faults;
  fprintf(stderr, "c_host: %s (class %u, code %u, \"%s\")\n", sentence, current.outcome_class,
          current.code, current.message);
}

static berth_str text(const char* s) {
  berth_str out = {s, strlen(s)};
  return out;
}

static void keep(char* to, uint64_t capacity, berth_str from) {
  const uint64_t size = from.len < capacity - 1 ? from.len : capacity - 1;
  if (size != 0) memcpy(to, from.ptr, size);
  to[size] = '\0';
}

static void host_log(void* ctx, berth_log_level level, berth_str message) {
  (void)ctx;
  (void)level;
  (void)message;
}

static uint64_t host_now(void* ctx) {
  (void)ctx;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Which slot is under way decides how a result is read. */
static enum { OTHER, PROBE, CREATE, FOUND, RUN, LIST } reading;

static void host_complete(void* ctx, berth_op op, const berth_outcome* outcome) {
  (void)ctx;
  pthread_mutex_lock(&mutex);
  check(op == current.op && !current.completed,
        "op_complete of an operation that is not open [OP-002]");
  current.outcome_class = outcome->outcome_class;
  current.code = outcome->code;
  keep(current.message, sizeof current.message, outcome->message);
  if (outcome->outcome_class == BERTH_DONE && outcome->result != NULL) {
    const berth_create_result* created = outcome->result;
    const berth_lookup_result* found = outcome->result;
    const berth_run_result* ran = outcome->result;
    switch (reading) {
      case PROBE:
        current.usable = ((const berth_probe_result*)outcome->result)->usable;
        break;
      case CREATE:
        keep(current.name, sizeof current.name, created->name);
        keep(current.ref, sizeof current.ref, created->ref);
        break;
      case FOUND:
        current.presence = found->presence;
        break;
      case RUN:
        current.cause = ran->cause;
        current.exit_code = ran->exit_code;
        current.stdout_bytes = ran->stdout_bytes;
        break;
      case LIST:
        current.item_count = ((const berth_list_result*)outcome->result)->item_count;
        break;
      case OTHER:
        break;
    }
  }
  current.completed = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void host_stage(void* ctx, berth_op op, berth_str stage) {
  (void)ctx;
  (void)op;
  check(stage.len <= BERTH_STAGE_MAX_BYTES, "a stage is too long [MEM-006]");
}

static uint32_t host_cancelled(void* ctx, berth_op op) {
  (void)ctx;
  (void)op;
  return 0;
}

static int32_t host_no_fd(void* ctx, berth_op op) {
  (void)ctx;
  (void)op;
  return -1;
}

static uint64_t host_deadline(void* ctx, berth_op op) {
  (void)ctx;
  (void)op;
  return 0;
}

static berth_flow host_output(void* ctx, berth_op op, berth_stream stream, berth_bytes bytes) {
  (void)ctx;
  (void)stream;
  pthread_mutex_lock(&mutex);
  check(op == current.op && !current.completed, "output of an operation that is not open [OP-001]");
  for (uint64_t i = 0; i < bytes.len && current.out_bytes < sizeof current.out - 1; ++i)
    current.out[current.out_bytes++] = (char)bytes.ptr[i];
  current.out[current.out_bytes] = '\0';
  pthread_mutex_unlock(&mutex);
  return BERTH_OUTPUT_ACCEPTED;
}

static berth_input_status host_input(void* ctx, berth_op op, uint8_t* buffer, uint64_t capacity,
                                     uint64_t* got) {
  (void)ctx;
  (void)op;
  const uint64_t left = current.input_bytes - current.input_at;
  *got = left < capacity ? left : capacity;
  if (*got == 0) return BERTH_INPUT_END;
  if (reading == RUN && !current.input_held_back) {
    current.input_held_back = 1;
    *got = 0;
    return BERTH_INPUT_AGAIN;
  }
  memcpy(buffer, current.input + current.input_at, *got);
  current.input_at += *got;
  return BERTH_INPUT_DATA;
}

static berth_wait_status host_wait(void* ctx, berth_op op, uint64_t timeout_ns) {
  (void)ctx;
  (void)op;
  (void)timeout_ns;
  return BERTH_WAIT_READY;
}

static uint32_t host_get(void* ctx, berth_str key, berth_write_fn write, void* user) {
  (void)ctx;
  (void)key;
  (void)write;
  (void)user;
  return 0;
}

struct task {
  berth_task_fn run;
  void* user;
};

static void* run_task(void* from) {
  const struct task task = *(struct task*)from;
  free(from);
  task.run(task.user);
  return NULL;
}

static uint32_t host_post(void* ctx, berth_task_fn run, void* user) {
  (void)ctx;
  struct task* task = malloc(sizeof *task);
  if (task == NULL || thread_count == THREADS_MAX) abort();
  task->run = run;
  task->user = user;
  return pthread_create(&threads[thread_count++], NULL, run_task, task) == 0;
}

static const berth_host_v1 host = {
    .struct_size = sizeof(berth_host_v1),
    .log = host_log,
    .op_complete = host_complete,
    .op_stage = host_stage,
    .op_cancelled = host_cancelled,
    .op_cancel_fd = host_no_fd,
    .op_deadline = host_deadline,
    .output = host_output,
    .input = host_input,
    .op_ready_fd = host_no_fd,
    .op_wait = host_wait,
    .config_get = host_get,
    .secret_get = host_get,
    .now = host_now,
    .post_blocking = host_post,
};

static berth_op begin(int how_to_read) {
  const berth_op next = current.op + 1;
  memset(&current, 0, sizeof current);
  current.op = next;
  reading = how_to_read;
  return next;
}

/* The class of the operation's end. */
static berth_outcome_class end(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_SECONDS;
  pthread_mutex_lock(&mutex);
  while (!current.completed) {
    if (pthread_cond_timedwait(&changed, &mutex, &until) != 0) {
      fprintf(stderr, "c_host: an operation was not completed within a minute [OP-002]\n");
      exit(1);
    }
  }
  pthread_mutex_unlock(&mutex);
  return current.outcome_class;
}

static void drive_files(const berth_provider_v1 *p, void *self, const char *ref) {
  berth_put_file_spec put;
  memset(&put, 0, sizeof put);
  put.struct_size = sizeof put;
  put.path = text("/work/a");
  put.size_bytes = 44;
  const berth_op put_op = begin(OTHER);
  current.input = "a file of forty-four bytes, in several reads";
  current.input_bytes = 44;
  p->put_file(self, put_op, text(ref), &put);
  check(end() == BERTH_DONE, "put_file failed");

  berth_get_file_spec get;
  memset(&get, 0, sizeof get);
  get.struct_size = sizeof get;
  get.path = text("/work/a");
  get.max_bytes = 1000;
  p->get_file(self, begin(OTHER), text(ref), &get);
  check(end() == BERTH_DONE &&
            strcmp(current.out, "a file of forty-four bytes, in several reads") == 0,
        "get_file did not return what was put");
  get.path = text("/work/b");
  p->get_file(self, begin(OTHER), text(ref), &get);
  check(end() == BERTH_REJECTED && current.code == BERTH_CODE_NOT_FOUND,
        "a missing file was found");
}

static void drive_sandbox(const berth_provider_v1* p, void* self) {
  berth_create_spec create;
  memset(&create, 0, sizeof create);
  create.struct_size = sizeof create;
  create.owner_tag = text("tag");
  p->create(self, begin(CREATE), text("berth-1"), &create);
  check(end() == BERTH_DONE && strcmp(current.name, "berth-1") == 0,
        "create did not make what was asked for");
  char ref[256];
  memcpy(ref, current.ref, sizeof ref);

  p->create(self, begin(CREATE), text("berth-1"), &create);
  check(end() == BERTH_DONE && strcmp(current.ref, ref) == 0,
        "the same name made another sandbox [KEY-001]");

  p->lookup(self, begin(FOUND), text("berth-1"));
  check(end() == BERTH_DONE && current.presence == BERTH_PRESENCE_PRESENT,
        "lookup did not find it");

  p->list_owned(self, begin(LIST), text("tag"), text(""));
  check(end() == BERTH_DONE && current.item_count == 1, "list_owned did not list it");

  drive_files(p, self, ref);

  const berth_str argv[] = {text("echo"), text("hello")};
  berth_command command;
  memset(&command, 0, sizeof command);
  command.struct_size = sizeof command;
  command.stdin_source = BERTH_STDIN_INPUT;
  command.argv.items = argv;
  command.argv.count = 2;
  const berth_op run_op = begin(RUN);
  current.input = "input";
  current.input_bytes = 5;
  p->run(self, run_op, text(ref), &command);
  check(end() == BERTH_DONE && current.cause == BERTH_CAUSE_EXITED && current.exit_code == 0,
        "run did not exit 0");
  check(current.stdout_bytes == current.out_bytes,
        "the bytes of standard output are not counted [RUN-006]");

  p->destroy(self, begin(OTHER), text("berth-1"), text(ref));
  check(end() == BERTH_DONE, "destroy failed");
  p->destroy(self, begin(OTHER), text("berth-1"), text(""));
  check(end() == BERTH_DONE, "destroy of what is gone is not DONE [CLEAN-001]");
  p->lookup(self, begin(FOUND), text("berth-1"));
  check(end() == BERTH_DONE && current.presence == BERTH_PRESENCE_ABSENT_NOW, "it is still there");

  if (p->fence == NULL) return;
  p->fence(self, begin(FOUND), text("berth-2"));
  check(end() == BERTH_DONE && current.presence == BERTH_PRESENCE_ABSENT_FENCED,
        "fence did not fence");
  p->create(self, begin(CREATE), text("berth-2"), &create);
  check(end() == BERTH_REJECTED, "a fenced name made a sandbox [FENCE-001]");
}

static int remove_one(const char* path, const struct stat* status, int flag, struct FTW* where) {
  (void)status;
  (void)flag;
  (void)where;
  return remove(path);
}

static void remove_state_dir(void) { nftw(state_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

int main(int argc, char** argv) {
  if (argc != 2 || mkdtemp(state_dir) == NULL) {
    fprintf(stderr, "usage: c_host FILE\n");
    return 2;
  }
  atexit(remove_state_dir);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "c_host: %s\n", dlerror());
    return 1;
  }
  berth_provider_entry_fn entry;
  *(void**)&entry = dlsym(library, BERTH_ENTRY_SYMBOL);
  berth_offer offer;
  memset(&offer, 0, sizeof offer);
  offer.struct_size = sizeof offer;
  offer.host = &host;
  berth_reply reply;
  memset(&reply, 0, sizeof reply);
  reply.struct_size = sizeof reply;
  if (entry == NULL || entry(&offer, &reply) != 0) {
    fprintf(stderr, "c_host: the provider has no entry, or refuses\n");
    return 1;
  }
  const berth_provider_v1* p = reply.provider;
  check(p->get_extension(reply.self, text("berth.unknown/1")) == NULL,
        "an unknown extension has a table [EXT-001]");
  p->lookup(reply.self, begin(FOUND), text("berth-1"));
  check(end() == BERTH_REJECTED, "an operation before open was not refused [OPEN-001]");

  berth_open_spec open;
  memset(&open, 0, sizeof open);
  open.struct_size = sizeof open;
  open.config_json = text("{}");
  open.state_dir = text(state_dir);
  open.owner_tag = text("tag");
  p->open(reply.self, begin(OTHER), &open);
  check(end() == BERTH_DONE, "open failed");
  p->probe(reply.self, begin(PROBE));
  check(end() == BERTH_DONE && current.usable == 1, "probe does not say that it can be used");
  p->scope(reply.self, begin(OTHER));
  check(end() == BERTH_DONE, "scope failed");
  drive_sandbox(p, reply.self);
  p->shutdown(reply.self, begin(OTHER));
  check(end() == BERTH_DONE, "shutdown failed");
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  printf("%s: every slot was driven, %d faults\n", argv[1], faults);
  return faults == 0 ? 0 : 1;
}
