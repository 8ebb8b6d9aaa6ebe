/* SPDX-License-Identifier: Apache-2.0
 *
 * The Berth provider ABI, major version 1, minor version 0.
 *
 * This header is the only thing a provider and a host share. It is C11, includes nothing but
 * <stdint.h>, and is also valid C++17 and C++20. Long because the contract is read in one piece.
 *
 * Reading order: values, outcomes, arguments, results, the host's table, the provider's table,
 * the entry. docs/CONTRACT.md numbers every rule; a clause id such as [OUT-001] names one there.
 *
 * Conventions that hold for everything below:
 *
 *  - `struct_size` comes first in every struct that crosses. The sender writes its own sizeof; the
 *    receiver copies min(sender's, own) bytes into a zeroed struct of its own before it reads.
 *    A field beyond the sender's size therefore reads as zero, and zero always means "as before".
 *  - Structs only grow at their end, so none holds another by value except {ptr, len} pairs.
 *    `reserved` fields are zero and the receiver checks that.
 *  - Only fixed-width integers and pointers: no bool, enum, size_t, bitfield, union or varargs.
 *    Pointers are 64 bits wide; other targets are not supported.
 *  - Strings are {ptr, len}, UTF-8, not terminated; {NULL, 0} is the empty string.
 *  - No memory changes owner. The arguments of an operation hang off the operation and live until
 *    its completion; anything else the host passes is borrowed until the call returns. What the
 *    provider hands back is copied by the host before the callback returns.
 *  - Thread tags close every comment:
 *      [load-thread]  the thread that loads the provider; nothing else runs meanwhile
 *      [host-loop]    the host's event loop, one call at a time
 *      [any-thread]   any thread of the provider's or lent by the host
 *      [lent-thread]  a thread lent by the host through post_blocking, or one of the provider's own
 *      [no-block]     must return in microseconds: no I/O, no waiting, no lock held across I/O
 *      [may-block]    may wait
 */
#ifndef BERTH_ABI_H
#define BERTH_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_ABI_MAJOR 1u
#define BERTH_ABI_MINOR 0u

/* The one symbol a provider exports. Its name carries the major version. [LOAD-004] */
#define BERTH_ENTRY_SYMBOL "berth_provider_entry_v1"

/* ---------------------------------------------------------------------------------------------
 * Metadata notes. Two ELF notes with owner "BERTH" let a host judge a file without running it.
 * Readers find them through PT_NOTE by owner and type, never by section name. [META-001]
 */
#define BERTH_NOTE_OWNER "BERTH"
#define BERTH_NOTE_ABI 1u              /* payload: berth_abi_note */
#define BERTH_NOTE_MANIFEST 2u         /* payload: the manifest, canonical JSON, UTF-8 */
#define BERTH_MANIFEST_MAX_BYTES 65536u
#define BERTH_NOTE_FORMAT 1u

/* Little-endian, exactly 12 bytes in format 1. `flags` is zero in this version. */
typedef struct berth_abi_note {
  uint16_t format;             /* BERTH_NOTE_FORMAT */
  uint16_t abi_major;          /* BERTH_ABI_MAJOR the provider was built with */
  uint16_t abi_minor_built;    /* BERTH_ABI_MINOR of the header it was built with */
  uint16_t abi_minor_required; /* the oldest host minor it can work with */
  uint32_t flags;
} berth_abi_note;

/* ---------------------------------------------------------------------------------------------
 * Values
 */
typedef struct berth_str {
  const char *ptr;
  uint64_t len;
} berth_str;

typedef struct berth_bytes {
  const uint8_t *ptr;
  uint64_t len;
} berth_bytes;

typedef struct berth_str_list {
  const berth_str *items;
  uint64_t count;
} berth_str_list;

typedef struct berth_pair {
  berth_str key;
  berth_str value;
} berth_pair;

typedef struct berth_pair_list {
  const berth_pair *items;
  uint64_t count;
} berth_pair_list;

/* One operation: cancel token, deadline, progress and output channel in one. Issued by the host,
 * never zero, never reused while the provider is loaded. Dead after op_complete. [OP-001] */
typedef uint64_t berth_op;

/* Bounds that both sides check. A longer value is refused, never cut. [MEM-006] */
#define BERTH_NAME_MAX_BYTES 64u          /* a sandbox name made by the host: [a-z0-9-] */
#define BERTH_REF_MAX_BYTES 1024u         /* the provider's reference of a sandbox */
#define BERTH_MESSAGE_MAX_BYTES 4096u     /* a message; a longer one is cut by the host */
#define BERTH_STAGE_MAX_BYTES 64u         /* a stage: short lower-case words */
#define BERTH_PATH_MAX_BYTES 4096u        /* an absolute path inside a sandbox */
#define BERTH_OUTPUT_CHUNK_MAX_BYTES 65536u
#define BERTH_ARGV_MAX_BYTES 131072u      /* one element of argv, as on Linux */
#define BERTH_LIST_MAX_ITEMS 65536u       /* items of any list that crosses */

/* ---------------------------------------------------------------------------------------------
 * Outcomes. Every operation ends with one. The class says what may exist now; the code says why.
 * A code never implies a class. [OUT-001]
 *
 * Rationale: zero is the uncertain class, so that a crash, an exception or a forgotten field is
 * read as "a sandbox may exist", which is the only answer that loses nothing.
 */
typedef uint32_t berth_outcome_class;
#define BERTH_UNSET 0u        /* nothing was asserted; the host reads it as BERTH_UNCERTAIN */
#define BERTH_DONE 1u         /* the effect is exactly what was asked for */
#define BERTH_REJECTED 2u     /* refused before any effect */
#define BERTH_FAILED_CLEAN 3u /* tried, undid it, and verified that it is undone */
#define BERTH_FAILED_DIRTY 4u /* tried; something is left under this name */
#define BERTH_UNCERTAIN 5u    /* does not know */

typedef uint32_t berth_code;
#define BERTH_CODE_NONE 0u
#define BERTH_CODE_INVALID_ARGUMENT 1u
#define BERTH_CODE_UNSUPPORTED 2u
#define BERTH_CODE_NOT_FOUND 3u
#define BERTH_CODE_CONFLICT 4u
#define BERTH_CODE_QUOTA 5u
#define BERTH_CODE_RATE_LIMITED 6u
#define BERTH_CODE_UNAUTHENTICATED 7u
#define BERTH_CODE_PERMISSION 8u
#define BERTH_CODE_UNAVAILABLE 9u
#define BERTH_CODE_TIMEOUT 10u
#define BERTH_CODE_CANCELLED 11u
#define BERTH_CODE_INTERNAL 12u

typedef struct berth_outcome {
  uint32_t struct_size;
  berth_outcome_class outcome_class;
  berth_code code;
  uint32_t reserved;
  uint64_t retry_after_ms; /* 0: the provider does not say */
  berth_str message;       /* for people: what was wrong and what to do; no secrets [ERR-003] */
  berth_str stage;         /* how far it came; empty: the stage last reported */
  const void *result;      /* with DONE: the slot's berth_*_result; NULL where a slot has none */
} berth_outcome;

/* ---------------------------------------------------------------------------------------------
 * Usage. Monotone counters since `epoch` (any number that changes when the counters restart);
 * never deltas. [USE-001] A counter that is not measured is BERTH_USAGE_UNKNOWN, which is not 0.
 */
#define BERTH_USAGE_UNKNOWN UINT64_MAX

typedef struct berth_usage {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t epoch;
  uint64_t wall_ns;
  uint64_t cpu_ns;
  uint64_t memory_peak_bytes;
  uint64_t network_egress_bytes;
  uint64_t cost_micro_usd; /* what the provider's service will invoice, if it says */
} berth_usage;

/* ---------------------------------------------------------------------------------------------
 * Arguments
 */

/* open: configuration the host has already validated against the manifest's configSchema. */
typedef struct berth_open_spec {
  uint32_t struct_size;
  uint32_t reserved;
  berth_str config_json; /* one JSON object, canonical; "{}" when nothing is configured */
  berth_str state_dir;   /* a private directory of this provider that outlives the process; it
                            exists, belongs to the host's user, mode 0700 */
  berth_str owner_tag;   /* put on every resource; what list_owned is asked for */
} berth_open_spec;

typedef uint32_t berth_network;
#define BERTH_NETWORK_NONE 0u /* nothing but loopback inside the sandbox */
#define BERTH_NETWORK_OPEN 1u /* whatever the provider's default egress is */

/* Zero in any limit means the provider's default. */
typedef struct berth_limits {
  uint32_t struct_size;
  uint32_t cpu_millis;          /* 1000 is one CPU */
  uint64_t memory_bytes;        /* swap included */
  uint64_t cpu_time_ns;         /* total CPU time of one command */
  uint64_t disk_bytes;          /* everything writable together */
  uint64_t file_size_bytes;     /* one file */
  uint32_t processes;           /* processes and threads together */
  uint32_t open_files;          /* per process */
} berth_limits;

typedef struct berth_create_spec {
  uint32_t struct_size;
  berth_network network;
  berth_str owner_tag;
  uint64_t lifetime_ns;       /* the sandbox ends by itself after this, host alive or not */
  berth_str_list languages;   /* "python", "javascript": what will be run in it */
  berth_str image;            /* empty: the provider's default */
  const berth_limits *limits; /* NULL: all defaults */
  berth_pair_list env;        /* for every command in it */
} berth_create_spec;

typedef uint32_t berth_stdin;
#define BERTH_STDIN_EMPTY 0u  /* end of file at once */
#define BERTH_STDIN_INPUT 1u  /* bytes come from the host's `input` */

typedef struct berth_command {
  uint32_t struct_size;
  berth_stdin stdin_source;
  berth_str_list argv;      /* argv[0] is looked up in PATH unless it has a slash; no shell */
  berth_str cwd;            /* empty: the provider's work folder */
  berth_pair_list env;      /* over that of the sandbox */
  uint64_t timeout_ns;      /* 0: none but the operation's own deadline */
  uint64_t stdout_cap_bytes; /* what the host will keep; 0: no cap. See BERTH_OUTPUT_LIMIT */
  uint64_t stderr_cap_bytes;
  const berth_limits *limits; /* per-command limits over the sandbox's; NULL: none */
} berth_command;

typedef struct berth_put_file_spec {
  uint32_t struct_size;
  uint32_t mode;       /* permission bits, 0 means 0644 */
  berth_str path;      /* absolute; parent directories are made */
  uint64_t size_bytes; /* exactly what `input` will give; anything else is an error */
} berth_put_file_spec;

typedef struct berth_get_file_spec {
  uint32_t struct_size;
  uint32_t reserved;
  berth_str path;     /* absolute */
  uint64_t max_bytes; /* a larger file is REJECTED with code QUOTA before any byte is sent */
} berth_get_file_spec;

/* ---------------------------------------------------------------------------------------------
 * Results
 */

/* One capability as it is on this machine, now. */
typedef struct berth_capability {
  uint32_t struct_size;
  uint32_t available; /* 1 or 0 */
  berth_str id;
  berth_str reason; /* when not available: what is missing and how to mend it */
} berth_capability;

/* One named part the provider depends on (a kernel feature, a binary, a service). One of the name
 * "berth.simulated" that is not ok says that nothing is run, only simulated, as providers for tests do: the
 * host then says so to whoever asked, and charges nothing. */
typedef struct berth_probe_item {
  uint32_t struct_size;
  uint32_t ok;       /* 1 or 0 */
  berth_str name;    /* short and stable: "cgroup", "seccomp", "python3" */
  berth_str detail;  /* what was found */
  berth_str remedy;  /* when not ok: what to do */
} berth_probe_item;

/* The element size of `capabilities` and `items` is the first element's struct_size. */
typedef struct berth_probe_result {
  uint32_t struct_size;
  uint32_t usable; /* 1: create can work here; 0: it cannot, and items say why */
  berth_str backend; /* product and version of what is behind the provider */
  const berth_capability *capabilities;
  uint64_t capability_count;
  const berth_probe_item *items;
  uint64_t item_count;
} berth_probe_result;

/* Where allocations live: non-secret, in the order the manifest lists the fields. A credential is
 * named only by its SHA-256 fingerprint. [SCOPE-001] */
typedef struct berth_scope_result {
  uint32_t struct_size;
  uint32_t reserved;
  berth_pair_list fields;
} berth_scope_result;

typedef struct berth_create_result {
  uint32_t struct_size;
  uint32_t reserved;
  berth_str name;        /* what the provider recorded as the name; the host compares it */
  berth_str ref;         /* the provider's own reference */
  berth_pair_list scope; /* the scope it was made in; the host compares it */
} berth_create_result;

typedef uint32_t berth_presence;
#define BERTH_PRESENCE_UNKNOWN 0u     /* cannot tell: a network error, a timeout, a doubt */
#define BERTH_PRESENCE_PRESENT 1u     /* found under this name */
#define BERTH_PRESENCE_IN_PROGRESS 2u /* a create of this name is still going on */
#define BERTH_PRESENCE_ABSENT_NOW 3u  /* not there at this moment; may still appear */
#define BERTH_PRESENCE_ABSENT_FENCED 4u /* not there, and no create of this name can succeed any
                                           more: only `fence` may say so */

typedef uint32_t berth_sandbox_state;
#define BERTH_STATE_UNKNOWN 0u
#define BERTH_STATE_STARTING 1u
#define BERTH_STATE_READY 2u
#define BERTH_STATE_STOPPED 3u
#define BERTH_STATE_BROKEN 4u

/* The answer of lookup and of fence. */
typedef struct berth_lookup_result {
  uint32_t struct_size;
  berth_presence presence;
  berth_sandbox_state state;
  uint32_t reserved;
  berth_str name;
  berth_str ref;
  berth_pair_list scope;
  uint64_t created_unix_ms; /* 0: not known */
} berth_lookup_result;

typedef uint32_t berth_cause;
#define BERTH_CAUSE_UNKNOWN 0u
#define BERTH_CAUSE_EXITED 1u
#define BERTH_CAUSE_SIGNALLED 2u
#define BERTH_CAUSE_OOM 3u       /* told from evidence, never guessed from an exit code */
#define BERTH_CAUSE_WALL 4u      /* timeout_ns passed */
#define BERTH_CAUSE_CPU 5u
#define BERTH_CAUSE_OUTPUT 6u    /* ended because it would not stop writing */
#define BERTH_CAUSE_DISK 7u
#define BERTH_CAUSE_CANCELLED 8u
#define BERTH_CAUSE_LOST 9u      /* the end was not seen: exit_code and signal mean nothing */

/* DONE with any exit code: a non-zero exit is data, not a failure. [RUN-002] */
typedef struct berth_run_result {
  uint32_t struct_size;
  berth_cause cause;
  int32_t exit_code; /* valid with cause EXITED, else -1 */
  uint32_t signal;   /* the signal that ended it, else 0 */
  uint64_t stdout_bytes; /* produced by the program, kept or not */
  uint64_t stderr_bytes;
  const berth_usage *usage; /* of this command; NULL: not measured */
} berth_run_result;

typedef struct berth_get_file_result {
  uint32_t struct_size;
  uint32_t mode;
  uint64_t size_bytes;
} berth_get_file_result;

typedef struct berth_destroy_result {
  uint32_t struct_size;
  uint32_t reserved;
  const berth_usage *usage; /* of the sandbox's whole life; NULL: not measured */
} berth_destroy_result;

typedef struct berth_listed {
  uint32_t struct_size;
  berth_sandbox_state state;
  berth_str name; /* empty for a resource that carries the tag but was never named (a pool member) */
  berth_str ref;
  uint64_t created_unix_ms;
  berth_str holder; /* who keeps it, where the provider knows */
} berth_listed;

/* The element size of `items` is the first element's struct_size. */
typedef struct berth_list_result {
  uint32_t struct_size;
  uint32_t complete; /* 1: this is all there is; 0: ask again with next_cursor */
  const berth_listed *items;
  uint64_t item_count;
  berth_str next_cursor;
} berth_list_result;

/* ---------------------------------------------------------------------------------------------
 * The host's table. Valid from the entry until shutdown has completed. `ctx` is the first argument
 * of every function.
 */
typedef uint32_t berth_log_level;
#define BERTH_LOG_DEBUG 0u
#define BERTH_LOG_INFO 1u
#define BERTH_LOG_WARN 2u
#define BERTH_LOG_ERROR 3u

typedef uint32_t berth_stream;
#define BERTH_STREAM_STDOUT 1u /* run: standard output, or both streams where they are combined */
#define BERTH_STREAM_STDERR 2u
#define BERTH_STREAM_FILE 3u   /* get_file: the contents */

typedef uint32_t berth_flow;
#define BERTH_OUTPUT_ACCEPTED 0u
#define BERTH_OUTPUT_PAUSE 1u     /* taken, but the reader is behind: write no more to this op until
                                     op_ready_fd is readable or op_wait says so [STRM-004] */
#define BERTH_OUTPUT_LIMIT 2u     /* the cap of this stream is reached: keep draining the program,
                                     count its bytes, send no more of this stream [STRM-005] */
#define BERTH_OUTPUT_CANCELLED 3u /* the operation is cancelled: stop producing */

typedef uint32_t berth_input_status;
#define BERTH_INPUT_DATA 0u      /* *got bytes were written into the buffer, at least one */
#define BERTH_INPUT_END 1u       /* nothing more will come */
#define BERTH_INPUT_AGAIN 2u     /* nothing yet: wait with op_wait or op_ready_fd */
#define BERTH_INPUT_CANCELLED 3u

typedef uint32_t berth_wait_status;
#define BERTH_WAIT_READY 0u     /* paused output may continue; when none is paused, input is there */
#define BERTH_WAIT_CANCELLED 1u /* cancelled, or the operation's deadline passed */
#define BERTH_WAIT_TIMEOUT 2u

typedef void (*berth_write_fn)(void *user, const char *ptr, uint64_t len);
typedef void (*berth_task_fn)(void *user);

typedef struct berth_host_v1 {
  uint32_t struct_size;
  uint32_t reserved;
  void *ctx;

  /* A line for the operator. Rate-limited and bounded by the host. [any-thread] [no-block] */
  void (*log)(void *ctx, berth_log_level level, berth_str message);

  /* Ends the operation, exactly once: during the slot or later. Everything reachable from
   * `outcome` is copied before this returns; afterwards `op` is dead and so are the operation's
   * arguments. A second call, or one after shutdown completed, is ignored and recorded as a
   * violation. [OP-002] [any-thread] [no-block] */
  void (*op_complete)(void *ctx, berth_op op, const berth_outcome *outcome);

  /* Says how far the operation is. The last stage is stored with the intent and shown to whoever
   * waits for it. [any-thread] [no-block] */
  void (*op_stage)(void *ctx, berth_op op, berth_str stage);

  /* 1 when the host asked to cancel or the deadline passed, else 0. [any-thread] [no-block] */
  uint32_t (*op_cancelled)(void *ctx, berth_op op);

  /* A descriptor that polls readable once cancelled or past the deadline. Owned by the host, valid
   * until completion; never read or closed by the provider. -1 when none can be made. [any-thread]
   * [no-block] */
  int32_t (*op_cancel_fd)(void *ctx, berth_op op);

  /* The operation's deadline on the clock of `now`; 0 when it has none. [any-thread] [no-block] */
  uint64_t (*op_deadline)(void *ctx, berth_op op);

  /* Hands bytes of a stream to the host, at most BERTH_OUTPUT_CHUNK_MAX_BYTES at a time; copied
   * before it returns. Per stream the order is that of the calls. Never called after op_complete.
   * [any-thread] [no-block] */
  berth_flow (*output)(void *ctx, berth_op op, berth_stream stream, berth_bytes bytes);

  /* Fetches bytes the caller supplied: standard input of `run`, contents of `put_file`.
   * [any-thread] [no-block] */
  berth_input_status (*input)(void *ctx, berth_op op, uint8_t *buffer, uint64_t capacity,
                              uint64_t *got);

  /* A descriptor that polls readable when what the operation waits for is there: while its output is
   * paused, that output may continue; otherwise, that input has arrived or ended. Owned by the host,
   * valid until completion; never read or closed by the provider; -1 when none can be made.
   * [STRM-006] [any-thread] [no-block] */
  int32_t (*op_ready_fd)(void *ctx, berth_op op);

  /* Waits for the same as op_ready_fd, or until the operation is cancelled or its deadline passed.
   * `timeout_ns` 0 means as long as the operation lasts. [lent-thread] [may-block] */
  berth_wait_status (*op_wait)(void *ctx, berth_op op, uint64_t timeout_ns);

  /* The value of a top-level configuration key as JSON text, through `write` before this returns.
   * Returns 1, or 0 when the key is absent. [any-thread] [no-block] */
  uint32_t (*config_get)(void *ctx, berth_str key, berth_write_fn write, void *user);

  /* The value of a variable that the manifest declares in envRequirements or optionalEnv; any other
   * name is refused and recorded. Returns 1, or 0 when absent. [any-thread] [no-block] */
  uint32_t (*secret_get)(void *ctx, berth_str name, berth_write_fn write, void *user);

  /* Nanoseconds on a clock that never goes back (CLOCK_MONOTONIC). [any-thread] [no-block] */
  uint64_t (*now)(void *ctx);

  /* Runs `task` on a thread the host lends; the host has as many as the manifest's `concurrency`
   * asks for. Returns 1, or 0 when the host is shutting down (the task will not run). [any-thread]
   * [no-block] */
  uint32_t (*post_blocking)(void *ctx, berth_task_fn task, void *user);
} berth_host_v1;

/* ---------------------------------------------------------------------------------------------
 * The provider's table. Its order is for ever; every slot is required, but for `fence`, which is
 * NULL exactly when the manifest says recovery "manual". `self` is the reply's. [NEG-004]
 *
 * Slots that take an op start an operation and must not block: waiting work goes through
 * post_blocking or the provider's own event loop. Several operations may be open at once, as many
 * as the manifest's `concurrency` says. [CONC-001]
 */
typedef struct berth_provider_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /* Acquires what the provider needs. The first operation; nothing real happens before it.
   * Completed with DONE, or with any other class and a message: the provider is then not used.
   * [OPEN-001] [host-loop] [no-block] */
  void (*open)(void *self, berth_op op, const berth_open_spec *spec);

  /* The table of an extension, or NULL. The same answer for the life of the provider; no side
   * effect; an unknown id, or a known one with anything appended, is NULL. [EXT-001] [load-thread]
   * [host-loop] [no-block] */
  const void *(*get_extension)(void *self, berth_str id);

  /* What works here, now. Result: berth_probe_result. [host-loop] [no-block] */
  void (*probe)(void *self, berth_op op);

  /* The identity of where allocations live. Result: berth_scope_result. [host-loop] [no-block] */
  void (*scope)(void *self, berth_op op);

  /* Makes a sandbox under `name`, which is the host's, unique, and the idempotency key: the same
   * name never makes a second one. Result: berth_create_result. [KEY-001] [host-loop] [no-block] */
  void (*create)(void *self, berth_op op, berth_str name, const berth_create_spec *spec);

  /* Tells whether a sandbox of this name exists; works in a process that knows nothing but the
   * name. A failure to find out is UNKNOWN, never absent. Result: berth_lookup_result with any
   * presence but ABSENT_FENCED. [KEY-004] [host-loop] [no-block] */
  void (*lookup)(void *self, berth_op op, berth_str name);

  /* Makes sure that no create of this name can ever succeed, also one that is under way. Result:
   * berth_lookup_result with ABSENT_FENCED, PRESENT or UNKNOWN. [FENCE-001] [host-loop] [no-block] */
  void (*fence)(void *self, berth_op op, berth_str name);

  /* Runs a command in a sandbox; its output goes through `output`. Result: berth_run_result.
   * [RUN-001] [host-loop] [no-block] */
  void (*run)(void *self, berth_op op, berth_str ref, const berth_command *command);

  /* Writes one whole file from `input`; never a part of one. No result. [FILE-001] [host-loop]
   * [no-block] */
  void (*put_file)(void *self, berth_op op, berth_str ref, const berth_put_file_spec *spec);

  /* Reads one whole regular file into `output` on BERTH_STREAM_FILE, following no link that leads
   * out of the sandbox. A missing file is REJECTED with code NOT_FOUND. Result:
   * berth_get_file_result. [FILE-002] [host-loop] [no-block] */
  void (*get_file)(void *self, berth_op op, berth_str ref, const berth_get_file_spec *spec);

  /* Ends a sandbox by name; `ref` may be empty. Idempotent: DONE also when there is none. DONE only
   * when the provider has established that it is gone. Result: berth_destroy_result or NULL.
   * [CLEAN-001] [host-loop] [no-block] */
  void (*destroy)(void *self, berth_op op, berth_str name, berth_str ref);

  /* Everything that carries this tag, page by page; the first cursor is empty. Result:
   * berth_list_result. [CLEAN-005] [host-loop] [no-block] */
  void (*list_owned)(void *self, berth_op op, berth_str owner_tag, berth_str cursor);

  /* Releases everything but the sandboxes. Completes only when no other operation is open and no
   * thread of the provider runs. The last operation. [SHUT-001] [host-loop] [no-block] */
  void (*shutdown)(void *self, berth_op op);
} berth_provider_v1;

/* ---------------------------------------------------------------------------------------------
 * The entry
 */
typedef struct berth_offer {
  uint32_t struct_size;
  uint16_t minor_min; /* the oldest minor of this major the host speaks */
  uint16_t minor_max; /* the newest */
  const berth_host_v1 *host;
  berth_str_list host_extensions; /* ids of extensions the host offers */
  berth_str host_version;         /* for people */
} berth_offer;

typedef struct berth_reply {
  uint32_t struct_size;
  uint16_t minor_chosen; /* within the offer */
  uint16_t reserved;
  void *self;
  const berth_provider_v1 *provider; /* static, inside the provider's own library */
  berth_str refusal; /* when the entry returns other than 0: why, static text */
} berth_reply;

/* Answers the offer: writes `reply` (zeroed, struct_size set by the host to its own size) and
 * returns 0, or returns another value with `refusal` set. Starts no thread, opens no file, talks to
 * no one, prints nothing. Callable again after a refusal. [LOAD-005] [load-thread] [no-block] */
typedef uint32_t (*berth_provider_entry_fn)(const berth_offer *offer, berth_reply *reply);

#if defined(BERTH_PROVIDER_BUILD)
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply);
#endif

#ifdef __cplusplus
}
#endif

#endif /* BERTH_ABI_H */
