#include "tools/berth/program_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/os/fd.h"

namespace berth::cli {
namespace {

constexpr std::size_t kCodeBytesMax = std::size_t{16} << 20;
constexpr std::size_t kFilesBytesMax = std::size_t{64} << 20;
constexpr std::size_t kFilesMax = 64;
constexpr int kStandardInput = 0;

// The whole file: a regular one or a pipe such as a shell's <(...), never a folder or a device.
Result<std::string> read_whole(const std::string& path, std::size_t bytes_max,
                               std::string_view what) {
  const std::string name = fmt::format("{} '{}'", what, path);
  BERTH_TRY(os::Fd file, os::open_file(path, O_RDONLY));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return fail(os_error(errno, name));
  if (S_ISDIR(info.st_mode)) return fail(ErrorKind::kInvalidArgument, name + " is a folder");
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return fail(ErrorKind::kInvalidArgument, name + " is neither a file nor a pipe");
  }
  return os::read_all(file.get(), bytes_max, name);
}

Result<Language> decide_language(const RunOptions& options) {
  if (!options.language.empty()) {
    if (const auto language = language_from(options.language)) return *language;
    return fail(ErrorKind::kInvalidArgument, fmt::format("unknown language '{}'", options.language));
  }
  if (options.file == "-") return Language::kPython;
  const std::string name = std::filesystem::path(options.file).filename();
  if (const auto language = language_of_file(name)) return *language;
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("the name '{}' does not tell the language; say --language python or "
                          "--language javascript",
                          name));
}

Status check_text(const std::string& code, const std::string& name) {
  const std::size_t zero = code.find('\0');
  if (zero == std::string::npos) return {};
  return fail(ErrorKind::kInvalidArgument,
              fmt::format("{} is not source text: byte {} is zero", name, zero));
}

}  // namespace

Result<ProgramSource> read_program(const RunOptions& options) {
  ProgramSource source;
  BERTH_TRY(source.language, decide_language(options));
  if (options.file == "-") {
    auto code = os::read_all(kStandardInput, kCodeBytesMax, "standard input");
    if (!code) return fail(code.error().with("cannot read the program"));
    source.code = std::move(*code);
    source.title = "program";
    BERTH_CHECK_OK(check_text(source.code, "standard input"));
  } else {
    auto code = read_whole(options.file, kCodeBytesMax, "program");
    if (!code) return fail(code.error().with("cannot read the program"));
    source.code = std::move(*code);
    const std::filesystem::path path(options.file);
    source.file_name = path.filename();
    source.title = path.stem();
    BERTH_CHECK_OK(check_text(source.code, fmt::format("'{}'", options.file)));
  }
  if (!options.title.empty()) source.title = options.title;
  return source;
}

Result<std::string> read_text_of(const std::string& file, std::size_t bytes_max) {
  auto text = file == "-" ? os::read_all(kStandardInput, bytes_max, "standard input")
                          : read_whole(file, bytes_max, "document");
  if (!text) return fail(text.error().with("cannot read the document"));
  return text;
}

Result<std::vector<RequestFile>> read_input_files(const std::vector<std::string>& paths) {
  std::vector<RequestFile> files;
  std::size_t left = kFilesBytesMax;
  if (paths.size() > kFilesMax) {
    return fail(ErrorKind::kLimit, fmt::format("more than {} files with --file", kFilesMax));
  }
  for (const std::string& path : paths) {
    const std::string name = std::filesystem::path(path).filename();
    const bool twice = std::any_of(files.begin(), files.end(),
                                   [&](const RequestFile& file) { return file.name == name; });
    if (twice) {
      return fail(ErrorKind::kInvalidArgument,
                  fmt::format("two files with --file would be named '{}'", name));
    }
    auto contents = read_whole(path, left, "input file");
    if (!contents) return fail(contents.error().with("cannot read a file given with --file"));
    left -= contents->size();
    files.push_back({name, std::move(*contents)});
  }
  return files;
}

}  // namespace berth::cli
