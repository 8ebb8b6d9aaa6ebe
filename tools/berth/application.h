// The application's own file: berth.json in its folder selects exactly one provider.
//
//   {"provider": "daytona"}
//
// Nothing else may stand in it: how a provider is reached is the host's configuration, and keys are in
// the environment.
#ifndef BERTH_TOOLS_BERTH_APPLICATION_H_
#define BERTH_TOOLS_BERTH_APPLICATION_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth::cli {

struct Application {
  std::filesystem::path file;
  std::string provider;
};

// The provider that such a document selects.
Result<std::string> parse_application(std::string_view document);

// The nearest berth.json in `folder` or above it; nothing when there is none. One that cannot be used
// is an error, never passed over: another provider would run what it was meant to keep away from it.
Result<std::optional<Application>> find_application(const std::filesystem::path& folder);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_APPLICATION_H_
