/* A library whose one function mentions every type of the binary contract, so that abidiff compares them
 * all: types that are reached only through `const void *` would escape it. They are parameters and not
 * fields, because an append suppressed in a struct is still reported by the struct that points at it. */
#include "berth/abi.h"

__attribute__((visibility("default"))) void berth_abi_anchor_v1(
    berth_abi_note *note,
    berth_offer *offer,
    berth_reply *reply,
    berth_host_v1 *host,
    berth_provider_v1 *provider,
    berth_outcome *outcome,
    berth_open_spec *open_spec,
    berth_create_spec *create_spec,
    berth_command *command,
    berth_put_file_spec *put_file_spec,
    berth_get_file_spec *get_file_spec,
    berth_limits *limits,
    berth_usage *usage,
    berth_capability *capability,
    berth_probe_item *probe_item,
    berth_probe_result *probe_result,
    berth_scope_result *scope_result,
    berth_create_result *create_result,
    berth_lookup_result *lookup_result,
    berth_run_result *run_result,
    berth_get_file_result *get_file_result,
    berth_destroy_result *destroy_result,
    berth_listed *listed,
    berth_list_result *list_result,
    berth_provider_entry_fn entry,
    berth_write_fn write,
    berth_task_fn task);

void berth_abi_anchor_v1(
    berth_abi_note *note,
    berth_offer *offer,
    berth_reply *reply,
    berth_host_v1 *host,
    berth_provider_v1 *provider,
    berth_outcome *outcome,
    berth_open_spec *open_spec,
    berth_create_spec *create_spec,
    berth_command *command,
    berth_put_file_spec *put_file_spec,
    berth_get_file_spec *get_file_spec,
    berth_limits *limits,
    berth_usage *usage,
    berth_capability *capability,
    berth_probe_item *probe_item,
    berth_probe_result *probe_result,
    berth_scope_result *scope_result,
    berth_create_result *create_result,
    berth_lookup_result *lookup_result,
    berth_run_result *run_result,
    berth_get_file_result *get_file_result,
    berth_destroy_result *destroy_result,
    berth_listed *listed,
    berth_list_result *list_result,
    berth_provider_entry_fn entry,
    berth_write_fn write,
    berth_task_fn task) {
  (void)note;
  (void)offer;
  (void)reply;
  (void)host;
  (void)provider;
  (void)outcome;
  (void)open_spec;
  (void)create_spec;
  (void)command;
  (void)put_file_spec;
  (void)get_file_spec;
  (void)limits;
  (void)usage;
  (void)capability;
  (void)probe_item;
  (void)probe_result;
  (void)scope_result;
  (void)create_result;
  (void)lookup_result;
  (void)run_result;
  (void)get_file_result;
  (void)destroy_result;
  (void)listed;
  (void)list_result;
  (void)entry;
  (void)write;
  (void)task;
}
