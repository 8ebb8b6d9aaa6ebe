#include "core/registry/search.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/os/process.h"

namespace berth::registry {
namespace {

constexpr std::size_t kFilesPerFolderMax = 1024;   // read
constexpr std::size_t kNamesPerFolderMax = 65536;  // looked at
constexpr std::size_t kFoldersMax = 64;
constexpr std::size_t kSkippedMax = 64;

// Empty when root owns it and nobody else can write it.
std::string distrust(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  if (info.st_uid != 0)
    return fmt::format("{} is not used under raised privilege: root does not own it", path.string());
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("{} is not used under raised privilege: others than root may write it",
                       path.string());
  return {};
}

void add_folder(SearchPath& path, const std::filesystem::path& folder) {
  if (!folder.is_absolute()) {
    path.ignored.push_back(
        fmt::format("\"{}\" is not an absolute path and is not searched", folder.string()));
    return;
  }
  if (path.privileged) {
    if (std::string why = distrust(folder); !why.empty()) {
      path.ignored.push_back(std::move(why));
      return;
    }
  }
  // One folder under two names is searched once.
  for (const auto& other : path.folders) {
    std::error_code error;
    if (other == folder.lexically_normal() || std::filesystem::equivalent(other, folder, error)) return;
  }
  if (path.folders.size() < kFoldersMax) path.folders.push_back(folder.lexically_normal());
}

// The folder of libraries of this build, relative to the prefix, and the plain one.
void add_prefix(SearchPath& path, const std::filesystem::path& prefix) {
  add_folder(path, prefix / BERTH_INSTALL_LIBDIR / "berth/providers");
  add_folder(path, prefix / "lib/berth/providers");
}

void skip(std::vector<std::string>* skipped, std::string why) {
  if (skipped == nullptr || skipped->size() > kSkippedMax) return;
  if (skipped->size() == kSkippedMax) why = "... and more";
  skipped->push_back(std::move(why));
}

std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder,
                                                std::vector<std::string>* skipped = nullptr) {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> others;
  std::error_code error;
  std::size_t names = 0;
  for (std::filesystem::directory_iterator at(folder, error), end;
       !error && at != end && names < kNamesPerFolderMax; at.increment(error), ++names) {
    const std::string name = at->path().filename().string();
    const bool hidden = name.starts_with('.');
    if (name.ends_with(".so") && !hidden) files.push_back(at->path());
    else if (name.find(".so") != std::string::npos) others.push_back(at->path());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    skip(skipped, fmt::format("{} cannot be searched: {}", folder.string(), error.message()));
  if (names == kNamesPerFolderMax)
    skip(skipped, fmt::format("only {} names of {} are looked at", names, folder.string()));
  std::sort(files.begin(), files.end());
  std::sort(others.begin(), others.end());
  for (const auto& file : others)
    skip(skipped, fmt::format("{} is {}; a provider file is named <id>.so", file.string(),
                              file.filename().string().starts_with('.') ? "hidden" : "not named *.so"));
  return files;
}

// Which file a name leads to; nothing when it leads nowhere.
std::optional<std::pair<dev_t, ino_t>> identity(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

bool usable(const SearchPath& path, const std::filesystem::path& file) {
  return !path.privileged || distrust(file).empty();
}

}  // namespace

SearchPath default_search_path() {
  SearchPath path;
  path.privileged = ::getauxval(AT_SECURE) != 0;
  const char* given = path.privileged ? nullptr : std::getenv("BERTH_PROVIDER_PATH");
  if (given != nullptr && *given != '\0') {
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':');
      if (colon != 0) add_folder(path, std::filesystem::path(rest.substr(0, colon)));
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    return path;
  }
  const auto beside = os::executable_folder();
  if (!beside.empty()) add_prefix(path, beside.parent_path());
  const char* data = path.privileged ? nullptr : std::getenv("XDG_DATA_HOME");
  const char* home = path.privileged ? nullptr : std::getenv("HOME");
  if (data != nullptr && *data == '/') add_folder(path, std::filesystem::path(data) / "berth/providers");
  else if (home != nullptr && *home == '/')
    add_folder(path, std::filesystem::path(home) / ".local/share/berth/providers");
  add_prefix(path, "/usr/local");
  add_prefix(path, "/usr");
  return path;
}

std::vector<Candidate> find_all(const SearchPath& path, std::vector<std::string>* skipped) {
  std::vector<Candidate> all;
  std::set<std::string, std::less<>> seen;
  std::map<std::pair<dev_t, ino_t>, std::filesystem::path> read;
  for (const auto& folder : path.folders) {
    auto files = libraries_in(folder, skipped);
    if (files.size() > kFilesPerFolderMax) {
      skip(skipped, fmt::format("only the first {} of {} provider files of {} are read",
                                kFilesPerFolderMax, files.size(), folder.string()));
      files.resize(kFilesPerFolderMax);
    }
    for (const auto& file : files) {
      if (!usable(path, file)) {
        skip(skipped, distrust(file));
        continue;
      }
      if (const auto which = identity(file)) {
        const auto [first, is_new] = read.emplace(*which, file);
        if (!is_new) {
          skip(skipped, fmt::format("{} is the same file as {}", file.string(), first->second.string()));
          continue;
        }
      }
      Candidate candidate{inspect(file), false};
      // A file without a readable manifest stands for the id its name suggests.
      const std::string id = candidate.inspection.manifest ? candidate.inspection.manifest->id
                                                           : file.stem().string();
      candidate.shadowed = !seen.insert(id).second;
      all.push_back(std::move(candidate));
    }
  }
  return all;
}

Result<std::filesystem::path> find_by_id(const SearchPath& path, std::string_view id) {
  std::string places;
  for (const auto& folder : path.folders) {
    places += "\n  " + folder.string();
    // The usual name first: most searches then read one file.
    auto files = libraries_in(folder);
    std::stable_partition(files.begin(), files.end(),
                          [&](const auto& file) { return file.stem().string() == id; });
    if (files.size() > kFilesPerFolderMax) files.resize(kFilesPerFolderMax);
    for (const auto& file : files) {
      if (!usable(path, file)) continue;
      const Inspection inspection = inspect(file);
      if (inspection.manifest ? inspection.manifest->id == id : file.stem().string() == id)
        return file;
    }
  }
  for (const std::string& why : path.ignored) places += "\n  (" + why + ")";
  return fail(ErrorKind::kNotFound,
              fmt::format("no provider \"{}\" was found; set BERTH_PROVIDER_PATH, or put its .so "
                          "file into one of:{}",
                          id, places));
}

}  // namespace berth::registry
