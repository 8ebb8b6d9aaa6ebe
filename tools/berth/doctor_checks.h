// The single checks of berth doctor. Each says what it found and, when that is not good, what to do.
#ifndef BERTH_TOOLS_BERTH_DOCTOR_CHECKS_H_
#define BERTH_TOOLS_BERTH_DOCTOR_CHECKS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/task.h"
#include "core/lifecycle/store.h"
#include "core/plugin/load.h"
#include "core/registry/manifest.h"
#include "tools/berth/context.h"
#include "tools/berth/host.h"

namespace berth::cli {

struct Check {
  enum class Verdict {
    kGood,
    kNote,     // works, but someone may miss it
    kMissing,  // something that Berth promises does not work here
  };
  Verdict verdict = Verdict::kGood;
  std::string group;  // "host", "provider local", "python in local", ...
  std::string name;
  std::string detail;
  std::string remedy;  // not with kGood
};

using Checks = std::vector<Check>;

// The state folder, which can be used, and its file system.
void check_state_folder(const std::filesystem::path& dir, Checks& checks);
// What is unresolved.
Task<void> check_store(Store& store, Checks& checks);

// The keepers of a state folder, of which there may be none.
void check_keepers(const Context& context, const std::filesystem::path& state_dir, Checks& checks);

// What the provider needs of the environment, by its manifest. False when something of it is missing.
bool check_environment(const registry::Manifest& manifest, Checks& checks);

// What the provider made ahead, and who keeps it.
Task<void> check_made_ahead(const HostedProvider& provider, Checks& checks);

// What a loaded provider's own probe says, layer by layer.
void check_probe(const plugin::LoadedProvider& provider, Checks& checks);

// Runs a small program in each language in a real sandbox: the interpreters, the base packages and
// the fonts as programs will find them. Free of charge.
Task<void> check_languages(Context& context, const HostedProvider& provider, bool has_index,
                           Checks& checks);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_DOCTOR_CHECKS_H_
