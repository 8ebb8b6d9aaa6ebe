#include "tools/berth/chart_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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

Result<SavedChart> save_one(std::string_view bytes, const std::filesystem::path& folder,
                            const std::string& stem, std::string_view ending, int& number,
                            Existing existing) {
  for (int tries = 0; tries < kNumbersTried; ++tries, ++number) {
    const std::filesystem::path path = folder / fmt::format("{}-{}.{}", stem, number, ending);
    if (holds(path, bytes)) return SavedChart{path, true, false};
    Status written = write_new(path, bytes);
    if (written) return SavedChart{path, false, false};
    if (written.error().kind() != ErrorKind::kConflict) return fail(std::move(written).error());
    if (existing == Existing::kReplace) {
      BERTH_CHECK_OK(write_over(path, bytes));
      return SavedChart{path, false, true};
    }
  }
  return fail(ErrorKind::kConflict,
              fmt::format("'{}' holds too many files named {}-N.{}; choose another folder with "
                          "--output or use --replace",
                          folder.string(), stem, ending));
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

Result<std::vector<SavedChart>> save_charts(std::span<const Chart> charts,
                                            const std::filesystem::path& folder,
                                            std::string_view title, Existing existing) {
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
    const bool png = chart.format == Chart::Format::kPng;
    const std::string bytes = png ? chart.png : to_json_text(chart.data) + "\n";
    BERTH_TRY(SavedChart one,
              save_one(bytes, folder, stem, png ? "png" : "json", number, existing));
    saved.push_back(std::move(one));
    ++number;
  }
  return saved;
}

}  // namespace berth::cli
