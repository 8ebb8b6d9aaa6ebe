// Binding: a provider's library, loaded, asked and its answer checked, up to but not including open.
#ifndef BERTH_CORE_PLUGIN_BINDING_H_
#define BERTH_CORE_PLUGIN_BINDING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/shared_library.h"
#include "core/registry/finding.h"
#include "sdk/include/berth/abi.h"

namespace berth::plugin {

// What the file claims, as far as the binding compares it with what is there.
struct Claims {
  std::vector<std::string> extensions;
  bool fences = false;  // the manifest says recovery "fence"
  std::uint32_t concurrency = 1;
  std::vector<std::string> variables;  // that secret_get may name
};

struct Binding {
  os::SharedLibrary library;
  berth_provider_v1 table{};  // a copy, zero beyond what the provider has
  void* self = nullptr;
  std::uint16_t minor = 0;
};

// Carries out the loading steps from the dynamic linker on. `descriptor` stays open for ever.
// `on_step` is told what is about to run, so that a provider that does not return can be named with
// its step. Returns false when `findings` has a refusal.
bool bind(int descriptor, const berth_host_v1& host, const Claims& claims,
          const std::function<void(std::string_view)>& on_step, Binding& binding,
          registry::Findings& findings);

}  // namespace berth::plugin

#endif  // BERTH_CORE_PLUGIN_BINDING_H_
