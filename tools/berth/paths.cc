#include "tools/berth/paths.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace berth::cli {
namespace {

std::string variable(const EnvironmentLookup& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

struct UserEntry {
  std::string name;
  std::string home;
};

UserEntry user_entry() {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  return {found->pw_name, found->pw_dir};
}

// $<xdg>/berth, else ~/<fallback>/berth. A relative XDG path is ignored, as its specification says.
Result<std::filesystem::path> user_folder(const EnvironmentLookup& environment, const char* xdg,
                                          const char* fallback) {
  const std::filesystem::path base = variable(environment, xdg);
  if (base.is_absolute()) return base / "berth";
  std::filesystem::path home = variable(environment, "HOME");
  if (!home.is_absolute()) home = user_entry().home;
  if (!home.is_absolute()) {
    return fail(ErrorKind::kNotFound,
                fmt::format("no home folder is known: neither HOME nor {} is an absolute path", xdg));
  }
  return home / fallback / "berth";
}

Result<std::filesystem::path> absolute_path(const std::string& text) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(text, error);
  if (error) {
    return fail(ErrorKind::kIo, fmt::format("cannot tell where '{}' is: {}", text, error.message()));
  }
  return path.lexically_normal();
}

}  // namespace

Result<std::filesystem::path> choose_state_dir(const std::string& option,
                                               const EnvironmentLookup& environment) {
  if (!option.empty()) return absolute_path(option);
  const std::string named = variable(environment, "BERTH_STATE_DIR");
  if (!named.empty()) return absolute_path(named);
  auto folder = user_folder(environment, "XDG_STATE_HOME", ".local/state");
  if (!folder) return fail(folder.error().with("name a state folder with --state-dir"));
  return folder;
}

Status prepare_state_dir(const std::filesystem::path& dir) {
  std::error_code error;
  const std::string name = dir.string();
  if (dir.has_parent_path()) std::filesystem::create_directories(dir.parent_path(), error);
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(os_error(errno, fmt::format("cannot make the state folder '{}'", name)));
  }
  struct stat info {};
  if (stat(dir.c_str(), &info) != 0) {
    return fail(os_error(errno, fmt::format("cannot look at the state folder '{}'", name)));
  }
  if (!S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::kIo, fmt::format("the state folder '{}' is not a folder", name));
  }
  if (info.st_uid != geteuid()) {
    return fail(ErrorKind::kRefused,
                fmt::format("the state folder '{}' belongs to uid {}, not to uid {}; choose another "
                            "with --state-dir",
                            name, info.st_uid, geteuid()));
  }
  if ((info.st_mode & 022) != 0) {
    return fail(ErrorKind::kRefused,
                fmt::format("the state folder '{}' can be written by others (mode {:o}); chmod 700 it",
                            name, info.st_mode & 07777));
  }
  if (access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fail(os_error(errno, fmt::format("cannot write the state folder '{}'", name)));
  }
  return {};
}

Result<ConfigPlace> choose_config_file(const std::string& option,
                                       const EnvironmentLookup& environment) {
  if (!option.empty()) {
    BERTH_TRY(auto path, absolute_path(option));
    return ConfigPlace{std::move(path), true};
  }
  auto folder = user_folder(environment, "XDG_CONFIG_HOME", ".config");
  if (!folder) return ConfigPlace{};  // no home: nothing to read
  return ConfigPlace{*folder / "config.json", false};
}

std::string user_name() {
  std::string name = user_entry().name;
  return name.empty() ? fmt::format("uid-{}", geteuid()) : name;
}

}  // namespace berth::cli
