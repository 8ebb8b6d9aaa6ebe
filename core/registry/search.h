// Where providers are found, and which file wins for an id.
#ifndef BERTH_CORE_REGISTRY_SEARCH_H_
#define BERTH_CORE_REGISTRY_SEARCH_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/registry/inspect.h"

namespace berth::registry {

struct SearchPath {
  std::vector<std::filesystem::path> folders;  // absolute, in order of precedence
  // Under raised privilege only folders and files are used that root owns and nobody else can write.
  bool privileged = false;
  // Folders that were named but are not used, with the reason.
  std::vector<std::string> ignored;
};

// From this process's environment and executable: BERTH_PROVIDER_PATH (colon-separated, absolute)
// replaces the list of lib/berth/providers and, where this build installs elsewhere, as Debian does
// under /usr, lib/<triplet>/berth/providers, beside the executable's folder;
// $XDG_DATA_HOME/berth/providers; and the same two below /usr/local and /usr.
SearchPath default_search_path();

struct Candidate {
  Inspection inspection;
  bool shadowed = false;  // an earlier file has the same id
};

// Every provider file of every folder (not below), in order of precedence; runs nothing. A provider
// file is named *.so and not hidden: a version after the .so, a backup, an editor's copy are none.
// What looks like one and is left out, and why, is added to `skipped` when that is given.
std::vector<Candidate> find_all(const SearchPath& path, std::vector<std::string>* skipped = nullptr);

// The first file whose manifest has this id, or which is named <id>.so but cannot be read as a
// provider: a bad file stops the search for its id rather than letting another one take its place.
Result<std::filesystem::path> find_by_id(const SearchPath& path, std::string_view id);

}  // namespace berth::registry

#endif  // BERTH_CORE_REGISTRY_SEARCH_H_
