#include "core/store/left_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/json.h"
#include "core/os/fd.h"

namespace berth {
namespace {

constexpr std::size_t kWordBytesMax = 1024;
constexpr unsigned kWordMode = 0600;
constexpr std::string_view kWord = ".word";
constexpr std::string_view kFull = ".full";  // an empty file: there was no room for the word

std::filesystem::path word_file(const std::filesystem::path& folder, std::string_view name,
                           std::string_view ending) {
  return folder / (std::string(name) + std::string(ending));
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos;
}

}  // namespace

void LeftWords::leave(std::string_view name, std::string_view word) const {
  if (!is_file_name(name)) return;
  const std::filesystem::path path = word_file(folder_, name, kWord);
  auto made = os::open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, kWordMode);
  if (!made) return;
  word = word.substr(0, kWordBytesMax);
  const ssize_t written = ::write(made->get(), word.data(), word.size());
  if (written == static_cast<ssize_t>(word.size())) return;
  const bool full = written >= 0 || errno == ENOSPC || errno == EDQUOT;
  if (full) ::rename(path.c_str(), word_file(folder_, name, kFull).c_str());
}

std::optional<std::string> LeftWords::of(std::string_view name) const {
  if (!is_file_name(name)) return std::nullopt;
  if (auto word = os::read_file(word_file(folder_, name, kWord), kWordBytesMax); word && !word->empty())
    return to_valid_utf8(*word);
  std::error_code error;
  if (std::filesystem::exists(word_file(folder_, name, kFull), error))
    return "no space was left on the file system of the state folder";
  if (std::filesystem::exists(word_file(folder_, name, kWord), error))
    return "the state folder took no more words";
  return std::nullopt;
}

std::vector<std::string> LeftWords::names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::filesystem::path& path = at->path();
    if (path.extension() == kWord || path.extension() == kFull) names.push_back(path.stem());
  }
  return names;
}

void LeftWords::drop(std::string_view name) const {
  if (!is_file_name(name)) return;
  for (const std::string_view ending : {kWord, kFull}) ::unlink(word_file(folder_, name, ending).c_str());
}

}  // namespace berth
