#include "core/registry/search.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/os/process.h"

namespace berth::registry {
namespace {

constexpr std::size_t kFilesPerFolderMax = 1024;
constexpr std::size_t kFoldersMax = 64;

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
  if (path.folders.size() < kFoldersMax) path.folders.push_back(folder.lexically_normal());
}

std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".so" && files.size() < kFilesPerFolderMax)
      files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
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
  if (!beside.empty()) add_folder(path, beside.parent_path() / "lib/berth/providers");
  const char* data = path.privileged ? nullptr : std::getenv("XDG_DATA_HOME");
  const char* home = path.privileged ? nullptr : std::getenv("HOME");
  if (data != nullptr && *data == '/') add_folder(path, std::filesystem::path(data) / "berth/providers");
  else if (home != nullptr && *home == '/')
    add_folder(path, std::filesystem::path(home) / ".local/share/berth/providers");
  add_folder(path, "/usr/local/lib/berth/providers");
  add_folder(path, "/usr/lib/berth/providers");
  return path;
}

std::vector<Candidate> find_all(const SearchPath& path) {
  std::vector<Candidate> all;
  std::set<std::string, std::less<>> seen;
  for (const auto& folder : path.folders)
    for (const auto& file : libraries_in(folder)) {
      if (!usable(path, file)) continue;
      Candidate candidate{inspect(file), false};
      // A file without a readable manifest stands for the id its name suggests.
      const std::string id = candidate.inspection.manifest ? candidate.inspection.manifest->id
                                                           : file.stem().string();
      candidate.shadowed = !seen.insert(id).second;
      all.push_back(std::move(candidate));
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
