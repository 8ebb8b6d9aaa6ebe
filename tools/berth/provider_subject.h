// Which file a user means who names a provider.
#ifndef BERTH_TOOLS_BERTH_PROVIDER_SUBJECT_H_
#define BERTH_TOOLS_BERTH_PROVIDER_SUBJECT_H_

#include <filesystem>
#include <string>

#include "core/registry/search.h"
#include "tools/berth/failure.h"

namespace berth::cli {

// A path when it looks like one or is there; else an id on the search path.
Tried<std::filesystem::path> find_subject(const std::string& subject,
                                          const registry::SearchPath& search);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_PROVIDER_SUBJECT_H_
