// Where things are: the state folder, the configuration file, the parts of Berth itself.
#ifndef BERTH_TOOLS_BERTH_PATHS_H_
#define BERTH_TOOLS_BERTH_PATHS_H_

#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"

namespace berth::cli {

// A variable of the environment, or null: getenv, or what a test says.
using EnvironmentLookup = std::function<const char*(const char*)>;

// --state-dir, $BERTH_STATE_DIR, $XDG_STATE_HOME/berth, ~/.local/state/berth; absolute.
Result<std::filesystem::path> choose_state_dir(const std::string& option,
                                               const EnvironmentLookup& environment);

struct ConfigPlace {
  std::filesystem::path path;
  bool must_exist = false;  // named by --config
};
Result<ConfigPlace> choose_config_file(const std::string& option,
                                       const EnvironmentLookup& environment);

// Where keepers are found: $XDG_RUNTIME_DIR/berth, /run/user/UID/berth where the variable is not set, and
// for root without either /run/berth-keeper. kNotFound when there is no such place: then none is used.
Result<std::filesystem::path> choose_keeper_dir(const EnvironmentLookup& environment);

// The name of the user this process runs as; "uid-N" when the system has no name for it.
std::string user_name();

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_PATHS_H_
