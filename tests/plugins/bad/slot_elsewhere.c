/* A slot is a function of another library. */
#define PLUGIN_ID "slot-elsewhere"
#include <stdlib.h>
#include <string.h>
#define OWN_TABLE
#define OWN_ENTRY
#include "tests/plugins/base.h"
static berth_provider_v1 table = {
    sizeof table, 0, base_open, base_get_extension, base_probe, base_scope, base_create, base_lookup,
    NULL, base_run, base_put_file, base_get_file, base_destroy, base_list_owned, base_shutdown};
uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  void (*elsewhere)(void) = abort;
  host = offer->host;
  memcpy(&table.probe, &elsewhere, sizeof elsewhere);
  reply->provider = &table;
  return 0;
}
