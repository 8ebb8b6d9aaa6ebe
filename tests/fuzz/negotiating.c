/* A provider whose answer to the offer is whatever the host's context holds: bytes of a fuzzer. */
#include <string.h>

#include "berth/abi.h"

struct script {
  const uint8_t *ptr;
  uint64_t len;
};

static berth_provider_v1 table;
static const void *extension_answer;

static uint64_t next(struct script *script, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    value = value << 8 | (script->len == 0 ? 0 : *script->ptr);
    if (script->len != 0) ++script->ptr, --script->len;
  }
  return value;
}

static void nothing(void *self, berth_op op) {
  (void)self;
  (void)op;
}

static const void *get_extension(void *self, berth_str id) {
  (void)self;
  (void)id;
  return extension_answer;
}

/* An address of one kind or another: data of this library, its code, nothing, somebody else's. */
static const void *address(struct script *script, const void *usual) {
  static const char text[] = "text of the library";
  switch (next(script, 1) % 16) {
    case 0: return NULL;
    case 1: return &table;
    case 2: return text;
    case 3: return script;
    case 4: return (const void *)(uintptr_t)strlen;
    case 5: return (const void *)(uintptr_t)next(script, 8);
    case 6: return (const char *)usual + next(script, 2);
    case 7: return (const void *)(uintptr_t)nothing;
    default: return usual;
  }
}

/* A size that is mostly the right one. */
static uint32_t size(struct script *script, uint32_t usual) {
  const uint64_t kind = next(script, 1);
  return kind < 200 ? usual : (uint32_t)next(script, kind % 5);
}

uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  struct script script = *(const struct script *)offer->host->ctx;
  const void *slots[13];
  for (unsigned i = 0; i < 13; ++i) slots[i] = address(&script, (const void *)(uintptr_t)nothing);
  /* get_extension is called when the host finds nothing wrong with it: so it is itself, or no code of ours. */
  const void *const others[] = {NULL, &table, &script, (const void *)(uintptr_t)strlen};
  const uint64_t other = next(&script, 1);
  slots[1] = other < 4 ? others[other] : (const void *)(uintptr_t)get_extension;
  memset(&table, 0, sizeof table);
  table.struct_size = size(&script, sizeof table);
  table.reserved = size(&script, 0);
  memcpy(&table.open, slots, sizeof slots);
  extension_answer = address(&script, &table);
  reply->struct_size = size(&script, sizeof *reply);
  reply->minor_chosen = (uint16_t)size(&script, 0);
  reply->reserved = (uint16_t)size(&script, 0);
  reply->provider = address(&script, &table);
  reply->refusal.ptr = address(&script, "a reason");
  reply->refusal.len = size(&script, 8);
  return size(&script, 0);
}
