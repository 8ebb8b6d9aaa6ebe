#include "tools/berth/chart_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/os/fd.h"

namespace berth::cli {
namespace {

constexpr std::size_t kStemBytesMax = 100;
constexpr int kNumbersTried = 10'000;
constexpr unsigned kMode = 0666;  // less the umask, like any file a person makes

bool stands_in_names(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' || byte >= 0x80;
}

// True when a regular file with exactly these bytes is there.
bool holds(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) != bytes.size() || error) {
    return false;
  }
  const auto contents = os::read_file(path, bytes.size());
  return contents && *contents == bytes;
}

// Makes a new file; one that cannot be written whole is taken away again. kConflict when the name
// is taken.
Status write_new(const std::filesystem::path& path, std::string_view bytes) {
  BERTH_TRY(os::Fd file, os::open_file(path, O_WRONLY | O_CREAT | O_EXCL, kMode));
  Status written = os::write_all(file.get(), bytes);
  if (!written) {
    ::unlink(path.c_str());
    return fail(written.error().with(fmt::format("cannot write '{}'", path.string())));
  }
  return {};
}

Status write_over(const std::filesystem::path& path, std::string_view bytes) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  Status written = os::replace_file(path, bytes, kMode & ~static_cast<unsigned>(mask));
  if (!written) return fail(written.error().with(fmt::format("cannot replace '{}'", path.string())));
  return {};
}

// What one chart is saved as: files that share a name but for its ending.
struct Part {
  std::string_view ending;
  std::string bytes;
};

// kConflict when another file has the name and must stay.
Result<SavedChart> save_part(const std::filesystem::path& path, const Part& part,
                             Existing existing) {
  if (holds(path, part.bytes)) return SavedChart{path, true, false};
  Status written = write_new(path, part.bytes);
  if (written) return SavedChart{path, false, false};
  if (written.error().kind() != ErrorKind::kConflict || existing == Existing::kKeep) {
    return fail(std::move(written).error());
  }
  BERTH_CHECK_OK(write_over(path, part.bytes));
  return SavedChart{path, false, true};
}

// Saves all parts under one number, or none: what was made is taken away again when a later part
// finds its name taken.
Result<std::vector<SavedChart>> save_parts(const std::vector<Part>& parts,
                                           const std::filesystem::path& stem, Existing existing) {
  std::vector<SavedChart> saved;
  for (const Part& part : parts) {
    auto one = save_part(fmt::format("{}.{}", stem.string(), part.ending), part, existing);
    if (one) {
      saved.push_back(std::move(*one));
      continue;
    }
    for (const SavedChart& made : saved) {
      if (!made.already_there && !made.replaced) ::unlink(made.path.c_str());
    }
    return fail(std::move(one).error());
  }
  return saved;
}

// The first number at which no part meets another file.
Status save_one(const std::vector<Part>& parts, const std::filesystem::path& stem, int& number,
                Existing existing, std::vector<SavedChart>& saved) {
  for (int tries = 0; tries < kNumbersTried; ++tries, ++number) {
    auto some = save_parts(parts, fmt::format("{}-{}", stem.string(), number), existing);
    if (some) {
      saved.insert(saved.end(), some->begin(), some->end());
      return {};
    }
    if (some.error().kind() != ErrorKind::kConflict) return fail(std::move(some).error());
  }
  return fail(ErrorKind::kConflict,
              fmt::format("there are too many files named {}-N.{}; choose another folder with "
                          "--output or use --replace",
                          stem.string(), parts.front().ending));
}

std::vector<Part> parts_of(const Chart& chart, std::string_view title, const ChartPage* page) {
  if (chart.format == Chart::Format::kPng) return {{"png", chart.png}};
  std::vector<Part> parts;
  parts.push_back({"json", to_json_text(chart.data) + "\n"});
  if (page != nullptr) parts.push_back({"html", page->draw(chart.data, title)});
  return parts;
}

// The deepest part of a path that is there; a relative one begins where the process is.
std::filesystem::path deepest_there(std::filesystem::path path) {
  std::error_code error;
  // A link that leads nowhere is there too, and no folder.
  while (!path.empty() && !std::filesystem::exists(std::filesystem::symlink_status(path, error)))
    path = path.parent_path();
  return path.empty() ? std::filesystem::path(".") : path;
}

}  // namespace

std::string file_stem(std::string_view title) {
  std::string stem;
  for (const char character : title) {
    if (stem.size() >= kStemBytesMax) break;
    if (stands_in_names(static_cast<unsigned char>(character))) {
      stem += character;
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
  }
  stem = to_valid_utf8(stem);
  while (!stem.empty() && (stem.back() == '-' || stem.back() == '.')) stem.pop_back();
  stem.erase(0, stem.find_first_not_of(".-"));
  return stem.empty() ? "chart" : stem;
}

// No look at modes tells what only the attempt does: a full disk, a file system that is read-only or takes no
// folders. It is made with a name that nobody else has, since other runs may be about to make the folder itself.
Status check_chart_folder(const std::filesystem::path& folder) {
  const std::string what = fmt::format("charts cannot be saved in '{}'", folder.string());
  const std::filesystem::path there = deepest_there(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(there, error)) return fail(os_error(ENOTDIR, what));
  const std::filesystem::path probe = there / fmt::format(".berth-{}", random_hex(8));
  if (!folder.empty() && there != folder) {
    if (::mkdir(probe.c_str(), 0700) != 0) return fail(os_error(errno, what));
    ::rmdir(probe.c_str());
    return {};
  }
  auto made = os::open_file(probe, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!made) return fail(made.error().with(what));
  ::unlink(probe.c_str());
  return {};
}

Result<std::vector<SavedChart>> save_charts(std::span<const Chart> charts,
                                            const std::filesystem::path& folder,
                                            std::string_view title, Existing existing,
                                            const ChartPage* page) {
  std::vector<SavedChart> saved;
  if (charts.empty()) return saved;
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(ErrorKind::kIo, fmt::format("cannot make the folder '{}': {}", folder.string(),
                                            error.message()));
  }
  const std::string stem = file_stem(title);
  int number = 1;
  for (const Chart& chart : charts) {
    BERTH_CHECK_OK(save_one(parts_of(chart, title, page), folder / stem, number, existing, saved));
    ++number;
  }
  return saved;
}

}  // namespace berth::cli
