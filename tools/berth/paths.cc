#include "tools/berth/paths.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
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

Result<std::filesystem::path> choose_keeper_dir(const EnvironmentLookup& environment) {
  // One that is named is the one that is meant, whether it can be used or not.
  const std::string named = variable(environment, "XDG_RUNTIME_DIR");
  if (!named.empty() && std::filesystem::path(named).is_absolute()) {
    return std::filesystem::path(named) / "berth";
  }
  const std::filesystem::path usual = fmt::format("/run/user/{}", geteuid());
  std::error_code error;
  if (std::filesystem::is_directory(usual, error)) return usual / "berth";
  if (geteuid() == 0) return std::filesystem::path("/run/berth-keeper");
  return fail(ErrorKind::kNotFound, "there is no runtime folder of this user: XDG_RUNTIME_DIR is not set");
}

std::string user_name() {
  std::string name = user_entry().name;
  return name.empty() ? fmt::format("uid-{}", geteuid()) : name;
}

}  // namespace berth::cli
