#include "interpreters.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "fd.h"
#include "state.h"

namespace berth::local {
namespace {

constexpr int kDepthMax = 3;
constexpr std::size_t kFoldersMax = 1000;

void add_path(const std::string& path, std::string* text) {
  struct stat found{};
  *text += path;
  if (stat(path.c_str(), &found) == 0) {
    *text += ':' + std::to_string(found.st_dev) + ':' + std::to_string(found.st_ino) + ':' +
             std::to_string(found.st_size) + ':' + std::to_string(found.st_mtim.tv_sec) + '.' +
             std::to_string(found.st_mtim.tv_nsec) + ':' + std::to_string(found.st_ctim.tv_sec) +
             '.' + std::to_string(found.st_ctim.tv_nsec);
  }
  *text += ';';
}

// A file below a folder comes or goes with the folder's own time of change.
void add_folders_below(const std::string& path, std::string* text) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, error);
  std::size_t folders = 0;
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error)) continue;
    if (at.depth() + 1 >= kDepthMax) at.disable_recursion_pending();
    if (++folders > kFoldersMax) return;
    add_path(at->path().string(), text);
  }
}

}  // namespace

std::vector<std::string> interpreter_paths() {
  std::vector<std::string> paths = {"/usr/bin/python3", "/usr/bin/node",
                                    "/usr/lib/python3/dist-packages", "/usr/share/fonts"};
  glob_t local{};
  if (glob("/usr/local/lib/python3*/dist-packages", 0, nullptr, &local) == 0) {
    for (std::size_t i = 0; i < local.gl_pathc; ++i) paths.emplace_back(local.gl_pathv[i]);
  }
  globfree(&local);
  return paths;
}

std::string interpreter_fingerprint(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    add_path(path, &text);
    // Packages are told by their folder alone; fonts lie in folders of folders.
    if (path.ends_with("/fonts")) add_folders_below(path, &text);
  }
  return text;
}

std::optional<std::string> remembered_answers(const std::string& file, std::string_view fingerprint) {
  std::optional<std::string> text = read_small_file(file, 1 << 20);
  if (!text || text->size() <= fingerprint.size() || !text->starts_with(fingerprint) ||
      (*text)[fingerprint.size()] != '\n') {
    return std::nullopt;
  }
  return text->substr(fingerprint.size() + 1);
}

void remember_answers(const std::string& file, std::string_view fingerprint,
                      std::string_view answers) {
  const std::string draft = file + '.' + random_hex(8);
  {
    const Fd fd(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return;
    std::string text(fingerprint);
    text += '\n';
    text += answers;
    if (write_fully(fd.get(), text) == 0 && rename(draft.c_str(), file.c_str()) == 0) return;
  }
  unlink(draft.c_str());
}

}  // namespace berth::local
