#include "tools/berth/desktop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

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

// Starts it in a session of its own, since it outlives us, with nothing to read or write. Its end is
// of no interest; what reaps it is the system, after us. 0 or an errno.
int start_detached(const std::string& program, const std::string& argument) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  for (int fd = 0; fd <= 2; ++fd) {
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETSIGMASK);
  std::string name = program;
  std::string file = argument;
  std::array<char*, 3> arguments{name.data(), file.data(), nullptr};
  pid_t pid = -1;
  const int failure =
      posix_spawn(&pid, program.c_str(), &files, &attributes, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failure;
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
  if (opener.empty()) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("--open: xdg-open (package xdg-utils) is not installed; open '{}' by "
                            "hand",
                            path));
  }
  if (const int failure = start_detached(opener.string(), path)) {
    return fail(ErrorKind::kUnavailable,
                fmt::format("--open: '{}' cannot be started: {}; open '{}' by hand",
                            opener.string(), std::generic_category().message(failure), path));
  }
  return {};
}

}  // namespace berth::cli
