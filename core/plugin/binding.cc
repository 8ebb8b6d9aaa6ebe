#include "core/plugin/binding.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "core/base/json.h"
#include "core/registry/clauses.h"
#include "core/registry/inspect.h"

namespace berth::plugin {
namespace {

namespace clause = registry::clause;
using registry::Severity;

constexpr std::uint32_t kTableBytesMax = 65536;

constexpr std::array<std::string_view, 10> kKnownExtensions{
    "berth.files/1",      "berth.process/1",  "berth.interpreter/1", "berth.session/1",
    "berth.standby/1",    "berth.checkpoint/1", "berth.snapshot/1",  "berth.network/1",
    "berth.ports/1",      "berth.volumes/1"};

class Binder {
 public:
  Binder(Binding& binding, const Claims& claims, registry::Findings& findings)
      : binding_(binding), claims_(claims), findings_(findings) {}

  bool load(int descriptor) {
    auto library = os::SharedLibrary::load_descriptor(descriptor);
    if (!library)
      return refuse(clause::kElf, "", library.error().message(),
                    "link it with -z defs, and link private libraries statically");
    binding_.library = std::move(*library);
    return true;
  }

  bool ask(const berth_host_v1& host) {
    const auto entry = reinterpret_cast<berth_provider_entry_fn>(
        binding_.library.symbol(BERTH_ENTRY_SYMBOL));
    if (entry == nullptr)
      return refuse(clause::kExports, "", fmt::format("no symbol {}", BERTH_ENTRY_SYMBOL),
                    "define the entry");
    const auto& offered = registry::host_offer();
    static constexpr std::string_view kHostVersion = "berth 0.1";
    berth_offer offer{};
    offer.struct_size = sizeof offer;
    offer.minor_min = offered.minor_min;
    offer.minor_max = offered.minor_max;
    offer.host = &host;
    offer.host_version = {kHostVersion.data(), kHostVersion.size()};
    reply_.struct_size = sizeof reply_;
    std::uint32_t answer = 0;
    if (!guarded("the entry", [&] { answer = entry(&offer, &reply_); })) return false;
    if (answer == 0) return true;
    return refuse(clause::kEntry, "",
                  fmt::format("the entry refuses this host ({}): {}", answer, refusal_text()),
                  "do what it says, or use another version of the provider");
  }

  bool check_reply() {
    if (reply_.struct_size < sizeof(berth_reply) || reply_.struct_size > kTableBytesMax)
      return refuse(clause::kReply, fmt::format("a reply of {} bytes", reply_.struct_size),
                    fmt::format("the reply of version 1.0 has {}", sizeof(berth_reply)),
                    "leave reply->struct_size as the host set it, or set sizeof(berth_reply)");
    const auto& offered = registry::host_offer();
    if (reply_.minor_chosen < offered.minor_min || reply_.minor_chosen > offered.minor_max)
      return refuse(clause::kMinor, fmt::format("chosen minor {}", reply_.minor_chosen),
                    fmt::format("an offer of {} to {}", offered.minor_min, offered.minor_max),
                    "choose a minor within the offer");
    if (reply_.reserved != 0)
      return refuse(clause::kReply, "", "a reserved field of the reply that is not zero",
                    "leave reserved fields zero");
    binding_.minor = reply_.minor_chosen;
    binding_.self = reply_.self;
    return check_table();
  }

  bool check_extensions() {
    bool good = true;
    for (const std::string& id : claims_.extensions) {
      const void* table = nullptr;
      if (!extension(id, table)) return false;
      if (table == nullptr)
        good = refuse(clause::kClaimsBacked, fmt::format("extension {}", id),
                      "get_extension answers NULL for it",
                      "return its table from get_extension, or take it out of the manifest");
      else if (!binding_.library.contains(table, sizeof(std::uint32_t)))
        good = refuse(clause::kPointers, fmt::format("extension {}", id),
                      "a table outside the provider's own library", "make the table static");
    }
    for (const std::string_view id : kKnownExtensions) {
      const auto& claimed = claims_.extensions;
      if (std::find(claimed.begin(), claimed.end(), id) != claimed.end()) continue;
      const void* table = nullptr;
      if (!extension(std::string(id), table)) return false;
      if (table != nullptr)
        findings_.push_back({Severity::kWarning, clause::kUnclaimed, "",
                             fmt::format("a table for {}, which the manifest does not list", id),
                             "list it in the manifest; until then it is never called"});
    }
    return good;
  }

 private:
  bool refuse(std::string_view clause_id, std::string claimed, std::string found,
              std::string remedy) {
    findings_.push_back({Severity::kRefusal, std::string(clause_id), std::move(claimed),
                         std::move(found), std::move(remedy)});
    return false;
  }

  // Runs foreign code that must not throw; says so when it does.
  template <class Body>
  bool guarded(std::string_view what, Body body) {
    try {
      body();
      return true;
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (const std::exception& thrown) {
      return refuse(clause::kEntry, "",
                    fmt::format("{} threw an exception: {}", what, to_valid_utf8(thrown.what())),
                    "let no exception out of the library");
    } catch (...) {
      return refuse(clause::kEntry, "", fmt::format("{} threw an exception", what),
                    "let no exception out of the library");
    }
  }

  std::string refusal_text() const {
    const berth_str text = reply_.refusal;
    if (text.len == 0) return "it does not say why";
    if (text.len > BERTH_MESSAGE_MAX_BYTES || !binding_.library.contains(text.ptr, text.len))
      return "its reason is not static text of its own library";
    return to_valid_utf8({text.ptr, static_cast<std::size_t>(text.len)});
  }

  bool check_table() {
    const berth_provider_v1* table = reply_.provider;
    if (table == nullptr)
      return refuse(clause::kTable, "", "no provider table in the reply", "set reply->provider");
    if (!binding_.library.contains(table, sizeof(std::uint32_t)))
      return refuse(clause::kPointers, "", "a provider table outside the provider's own library",
                    "make the table static");
    std::uint32_t size = 0;
    std::memcpy(&size, table, sizeof size);
    if (size < sizeof(berth_provider_v1) || size > kTableBytesMax)
      return refuse(clause::kReply, fmt::format("a provider table of {} bytes", size),
                    fmt::format("the table of version 1.0 has {}", sizeof(berth_provider_v1)),
                    "set struct_size to sizeof(berth_provider_v1)");
    if (!binding_.library.contains(table, size))
      return refuse(clause::kPointers, "",
                    "a provider table that reaches beyond the provider's own library",
                    "make the table static");
    std::memcpy(&binding_.table, table, sizeof binding_.table);
    binding_.table.struct_size = sizeof binding_.table;
    if (binding_.table.reserved != 0)
      return refuse(clause::kReply, "", "a reserved field of the provider table that is not zero",
                    "leave reserved fields zero");
    return check_slots();
  }

  bool check_slots() {
    const berth_provider_v1& t = binding_.table;
    const auto code = [](auto* function) { return reinterpret_cast<const void*>(function); };
    const std::pair<const char*, const void*> slots[] = {
        {"open", code(t.open)},         {"get_extension", code(t.get_extension)},
        {"probe", code(t.probe)},       {"scope", code(t.scope)},
        {"create", code(t.create)},     {"lookup", code(t.lookup)},
        {"fence", code(t.fence)},       {"run", code(t.run)},
        {"put_file", code(t.put_file)}, {"get_file", code(t.get_file)},
        {"destroy", code(t.destroy)},   {"list_owned", code(t.list_owned)},
        {"shutdown", code(t.shutdown)}};
    bool good = true;
    for (const auto& [name, address] : slots) {
      const bool is_fence = std::string_view(name) == "fence";
      if (is_fence && (address != nullptr) != claims_.fences) {
        good = refuse(clause::kTable,
                      fmt::format("recovery \"{}\"", claims_.fences ? "fence" : "manual"),
                      claims_.fences ? "an empty slot fence" : "a slot fence",
                      "let slot and manifest agree: fence is empty exactly with recovery manual");
        continue;
      }
      if (is_fence && address == nullptr) continue;
      if (address == nullptr)
        good = refuse(clause::kTable, "", fmt::format("an empty slot {}", name),
                      fmt::format("implement {}; every slot of the core table is required", name));
      else if (!binding_.library.contains_code(address))
        good = refuse(clause::kPointers, "",
                      fmt::format("a slot {} that is not code of the provider's own library", name),
                      "let every slot be a function of the library");
    }
    return good;
  }

  bool extension(const std::string& id, const void*& table) {
    return guarded("get_extension", [&] {
      table = binding_.table.get_extension(binding_.self, {id.data(), id.size()});
    });
  }

  Binding& binding_;
  const Claims& claims_;
  registry::Findings& findings_;
  berth_reply reply_{};
};

}  // namespace

bool bind(int descriptor, const berth_host_v1& host, const Claims& claims,
          const std::function<void(std::string_view)>& on_step, Binding& binding,
          registry::Findings& findings) {
  Binder binder(binding, claims, findings);
  on_step("loading the library");
  if (!binder.load(descriptor)) return false;
  on_step("calling the entry");
  if (!binder.ask(host)) return false;
  on_step("checking the reply");
  if (!binder.check_reply()) return false;
  on_step("asking for the extensions");
  return binder.check_extensions();
}

}  // namespace berth::plugin
