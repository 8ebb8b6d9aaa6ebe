// The table and the entry: all that a host sees of this file before it opens the provider.
#include <new>
#include <string_view>

#include "berth/abi.h"
#include "plugins/reference/provider.h"

namespace berth::reference {
namespace {

// Every slot is one call of the object behind `self`.
Reference& of(void* self) { return *static_cast<Reference*>(self); }

constexpr berth_provider_v1 kTable = {
    sizeof(berth_provider_v1),
    0,
    [](void* self, berth_op op, const berth_open_spec* spec) { of(self).open(op, spec); },
    [](void*, berth_str) -> const void* { return nullptr; },
    [](void* self, berth_op op) { of(self).probe(op); },
    [](void* self, berth_op op) { of(self).scope(op); },
    [](void* self, berth_op op, berth_str name, const berth_create_spec* spec) {
      of(self).create(op, name, spec);
    },
    [](void* self, berth_op op, berth_str name) { of(self).lookup(op, name); },
    [](void* self, berth_op op, berth_str name) { of(self).fence(op, name); },
    [](void* self, berth_op op, berth_str ref, const berth_command* command) {
      of(self).run(op, ref, command);
    },
    [](void* self, berth_op op, berth_str ref, const berth_put_file_spec* spec) {
      of(self).put_file(op, ref, spec);
    },
    [](void* self, berth_op op, berth_str ref, const berth_get_file_spec* spec) {
      of(self).get_file(op, ref, spec);
    },
    [](void* self, berth_op op, berth_str name, berth_str ref) { of(self).destroy(op, name, ref); },
    [](void* self, berth_op op, berth_str tag, berth_str cursor) {
      of(self).list_owned(op, tag, cursor);
    },
    [](void* self, berth_op op) { of(self).shutdown(op); },
};

berth_str text_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace
}  // namespace berth::reference

// Answers the offer and does nothing else: no thread, no file, no output. [LOAD-005]
extern "C" __attribute__((visibility("default"))) std::uint32_t berth_provider_entry_v1(
    const berth_offer* offer, berth_reply* reply) {
  using berth::reference::text_of;
  if (offer == nullptr || reply == nullptr || reply->struct_size < sizeof(berth_reply)) return 2;
  if (offer->minor_min > BERTH_ABI_MINOR) {
    reply->refusal =
        text_of("the host no longer speaks minor 0 of the ABI: rebuild this provider [NEG-002]");
    return 1;
  }
  if (offer->host == nullptr || offer->host->struct_size < sizeof(berth_host_v1)) {
    reply->refusal =
        text_of("the host's table is missing or smaller than that of ABI 1.0 [NEG-007]");
    return 1;
  }
  auto* provider = new (std::nothrow) berth::reference::Reference(offer->host);
  if (provider == nullptr) {
    reply->refusal = text_of("no memory");
    return 1;
  }
  reply->minor_chosen = BERTH_ABI_MINOR;
  reply->self = provider;
  reply->provider = &berth::reference::kTable;
  return 0;
}
