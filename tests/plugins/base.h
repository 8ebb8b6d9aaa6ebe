/* A whole provider in C against the ABI alone. A bad one says what it breaks before or after it
 * includes this: every part is a macro with a good default. */
#ifndef BERTH_TESTS_PLUGINS_BASE_H_
#define BERTH_TESTS_PLUGINS_BASE_H_

#ifndef BERTH_PROVIDER_BUILD
#define BERTH_PROVIDER_BUILD 1
#endif
#include <stddef.h>
#include <stdint.h>

#include "sdk/include/berth/abi.h"

#ifdef __cplusplus
#define ZERO {}
#else
#define ZERO {0}
#endif
/* A plugin that brings a slot of its own leaves the default one unused. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

#ifndef NOTE_MAJOR
#define NOTE_MAJOR 1
#endif
#ifndef NOTE_MINOR
#define NOTE_MINOR 0
#endif
#ifndef NOTE_MINOR_REQUIRED
#define NOTE_MINOR_REQUIRED 0
#endif
#ifndef MANIFEST_ABI
#define MANIFEST_ABI "{\"major\":1,\"minor\":0,\"minorRequired\":0}"
#endif
#ifndef MANIFEST_KIND
#define MANIFEST_KIND "sandbox"
#endif
#ifndef MANIFEST_CAPABILITIES
#define MANIFEST_CAPABILITIES "[]"
#endif
#ifndef MANIFEST_EXTENSIONS
#define MANIFEST_EXTENSIONS "[]"
#endif
#ifndef MANIFEST_RECOVERY
#define MANIFEST_RECOVERY "manual"
#endif
#ifndef MANIFEST_HOST_EXTENSIONS
#define MANIFEST_HOST_EXTENSIONS "[]"
#endif
#ifndef MANIFEST_LANGUAGES
#define MANIFEST_LANGUAGES "[\"python\",\"javascript\"]"
#endif
#ifndef MANIFEST_MORE
#define MANIFEST_MORE ""
#endif
#define MANIFEST                                                                                 \
  "{\"contractVersion\":1,\"kind\":\"" MANIFEST_KIND "\",\"id\":\"" PLUGIN_ID                     \
  "\",\"version\":\"1.0.0\",\"title\":\"test\",\"license\":\"Apache-2.0\",\"abi\":" MANIFEST_ABI  \
  ",\"capabilities\":" MANIFEST_CAPABILITIES ",\"extensions\":" MANIFEST_EXTENSIONS               \
  ",\"hostExtensions\":" MANIFEST_HOST_EXTENSIONS ",\"recovery\":\"" MANIFEST_RECOVERY                                      \
  "\",\"scopeFields\":[\"account\"],\"languages\":" MANIFEST_LANGUAGES ","                     \
  "\"cancellation\":\"terminate\",\"cleanup\":\"durable-allocation\",\"streams\":\"separate\","    \
  "\"concurrency\":{\"perProvider\":8,\"perSandbox\":4}" MANIFEST_MORE "}"

#ifndef MANIFEST_NOTE_BYTES
#define MANIFEST_NOTE_BYTES (sizeof(MANIFEST) - 1)
#endif

static const struct {
  uint32_t name_size, payload_size, type;
  char name[8];
  berth_abi_note payload;
} abi_note __attribute__((section(".note.berth.abi"), used, aligned(4))) = {
    6, sizeof(berth_abi_note), BERTH_NOTE_ABI, "BERTH", {1, NOTE_MAJOR, NOTE_MINOR, NOTE_MINOR_REQUIRED, 0}};

/* Without the zero of the text: it would take another four bytes where the text fills its own, and a linker that puts
 * the other note behind this one would give the host those as a note. C++ does not leave it out by itself. */
typedef struct manifest_note_data {
  uint32_t name_size, payload_size, type;
  char name[8];
  char payload[(sizeof(MANIFEST) + 2) / 4 * 4];
#ifdef __cplusplus
  constexpr manifest_note_data(uint32_t name_bytes, uint32_t payload_bytes, uint32_t note)
      : name_size(name_bytes), payload_size(payload_bytes), type(note), name{"BERTH"}, payload{} {
    for (size_t i = 0; i + 1 < sizeof(MANIFEST); ++i) payload[i] = MANIFEST[i];
  }
#endif
} manifest_note_data;

__attribute__((section(".note.berth.manifest"), used, aligned(4)))
#ifdef __cplusplus
static constexpr manifest_note_data manifest_note(6, MANIFEST_NOTE_BYTES, BERTH_NOTE_MANIFEST);
#else
static const manifest_note_data manifest_note = {
    6, (uint32_t)MANIFEST_NOTE_BYTES, BERTH_NOTE_MANIFEST, "BERTH", MANIFEST};
#endif

static const berth_host_v1 *host;

static void complete(berth_op op, const void *result) {
  berth_outcome outcome = ZERO;
  outcome.struct_size = sizeof outcome;
  outcome.outcome_class = BERTH_DONE;
  outcome.result = result;
  host->op_complete(host->ctx, op, &outcome);
}

static const berth_pair scope_fields[] = {{{"account", 7}, {"test", 4}}};

static void base_open(void *self, berth_op op, const berth_open_spec *spec) {
  (void)self, (void)spec;
  complete(op, NULL);
}
static const void *base_get_extension(void *self, berth_str id) {
  (void)self, (void)id;
  return NULL;
}
static void base_probe(void *self, berth_op op) {
  berth_probe_result result = ZERO;
  (void)self;
  result.struct_size = sizeof result;
  result.usable = 1;
  complete(op, &result);
}
static void base_scope(void *self, berth_op op) {
  berth_scope_result result = ZERO;
  (void)self;
  result.struct_size = sizeof result;
  result.fields.items = scope_fields;
  result.fields.count = 1;
  complete(op, &result);
}
static void base_create(void *self, berth_op op, berth_str name, const berth_create_spec *spec) {
  berth_create_result result = ZERO;
  (void)self, (void)spec;
  result.struct_size = sizeof result;
  result.name = name;
  result.ref = name;
  result.scope.items = scope_fields;
  result.scope.count = 1;
  complete(op, &result);
}
static void base_lookup(void *self, berth_op op, berth_str name) {
  berth_lookup_result result = ZERO;
  (void)self, (void)name;
  result.struct_size = sizeof result;
  result.presence = BERTH_PRESENCE_ABSENT_NOW;
  complete(op, &result);
}
static void base_run(void *self, berth_op op, berth_str ref, const berth_command *command) {
  berth_run_result result = ZERO;
  (void)self, (void)ref, (void)command;
  result.struct_size = sizeof result;
  result.cause = BERTH_CAUSE_EXITED;
  complete(op, &result);
}
static void base_put_file(void *self, berth_op op, berth_str ref, const berth_put_file_spec *spec) {
  (void)self, (void)ref, (void)spec;
  complete(op, NULL);
}
static void base_get_file(void *self, berth_op op, berth_str ref, const berth_get_file_spec *spec) {
  berth_get_file_result result = ZERO;
  (void)self, (void)ref, (void)spec;
  result.struct_size = sizeof result;
  complete(op, &result);
}
static void base_destroy(void *self, berth_op op, berth_str name, berth_str ref) {
  (void)self, (void)name, (void)ref;
  complete(op, NULL);
}
static void base_list_owned(void *self, berth_op op, berth_str tag, berth_str cursor) {
  berth_list_result result = ZERO;
  (void)self, (void)tag, (void)cursor;
  result.struct_size = sizeof result;
  result.complete = 1;
  complete(op, &result);
}
static void base_shutdown(void *self, berth_op op) {
  (void)self;
  complete(op, NULL);
}

#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(berth_provider_v1)
#endif
#ifndef SLOT_RUN
#define SLOT_RUN base_run
#endif
#ifndef SLOT_PROBE
#define SLOT_PROBE base_probe
#endif
#ifndef SLOT_FENCE
#define SLOT_FENCE NULL
#endif
#ifndef SLOT_OPEN
#define SLOT_OPEN base_open
#endif

#ifndef OWN_TABLE
static const berth_provider_v1 table = {
    (uint32_t)TABLE_SIZE, 0,           SLOT_OPEN,    base_get_extension, SLOT_PROBE,
    base_scope,           base_create, base_lookup,  SLOT_FENCE,         SLOT_RUN,
    base_put_file,        base_get_file, base_destroy, base_list_owned,  base_shutdown};
#endif

#ifndef OWN_ENTRY
#ifndef ENTRY_FIRST
#define ENTRY_FIRST
#endif
#ifndef ENTRY_LAST
#define ENTRY_LAST
#endif
uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  ENTRY_FIRST
  host = offer->host;
  reply->provider = &table;
  reply->minor_chosen = offer->minor_max;
  ENTRY_LAST
  return 0;
}
#endif

#endif /* BERTH_TESTS_PLUGINS_BASE_H_ */
