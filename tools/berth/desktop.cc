#include "tools/berth/desktop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/os/fd.h"
#include "core/os/process.h"

namespace berth::cli {
namespace {

bool is_set(const EnvironmentLookup& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

// A program on PATH; empty when there is none. Relative folders of PATH are passed over.
std::filesystem::path find_program(std::string_view name, const EnvironmentLookup& environment) {
  const char* value = environment("PATH");
  std::string_view left = value == nullptr ? "/usr/bin:/bin" : value;
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const std::filesystem::path folder(left.substr(0, end));
    left = end == std::string_view::npos ? std::string_view() : left.substr(end + 1);
    const auto candidate = folder / name;
    if (folder.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

}  // namespace

Status show_on_desktop(const std::filesystem::path& file, const EnvironmentLookup& environment) {
  std::error_code error;
  const std::string path = std::filesystem::absolute(file, error).string();
  if (!is_set(environment, "DISPLAY") && !is_set(environment, "WAYLAND_DISPLAY")) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("--open: there is no desktop here (neither DISPLAY nor WAYLAND_DISPLAY "
                            "is set); open '{}' on a machine that has one",
                            path));
  }
  const auto opener = find_program("xdg-open", environment);
  const auto setsid = find_program("setsid", environment);
  if (opener.empty() || setsid.empty()) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("--open: {} is not installed; open '{}' by hand",
                            opener.empty() ? "xdg-open (package xdg-utils)" : "setsid", path));
  }
  BERTH_TRY(os::Fd nothing, os::open_file("/dev/null", O_RDWR, 0));
  os::SpawnRequest request;
  request.program = setsid;
  // In a session of its own, since what shows the file outlives us.
  request.arguments = {"--fork", opener.string(), path};
  request.environment = whole_environment();
  request.descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}};
  BERTH_TRY(os::Process started, os::Process::spawn(request));
  const os::ProcessEnd end = started.reap();
  if (end.exit_code != 0) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("--open: xdg-open cannot be started: setsid {}; open '{}' by hand",
                            os::to_string(end), path));
  }
  return {};
}

}  // namespace berth::cli
