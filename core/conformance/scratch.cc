#include "core/conformance/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "core/base/ids.h"
#include "core/conformance/case_process.h"
#include "core/conformance/runner.h"
#include "core/registry/inspect.h"

namespace berth::conformance {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "bc-";
// Written once the folder is locked: a folder without it may be about to be locked.
constexpr char kMark[] = "run";
constexpr std::size_t kRequestFileBytesMax = std::size_t{1} << 20;
constexpr std::int64_t kCleanBudgetMs = 60'000;

Result<fs::path> base_of(fs::path base) {
  std::error_code error;
  if (base.empty()) base = fs::temp_directory_path(error);
  if (error) return fail(ErrorKind::kIo, "there is no temporary folder: " + error.message());
  return base;
}

bool lock(const os::Fd& folder) { return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

bool is_marked(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(folder / kMark, ignored));
}

// Nobody else can have put anything there.
bool is_private(const os::Fd& folder) {
  struct stat info {};
  return ::fstat(folder.get(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

Result<Scratch> Scratch::make(fs::path base) {
  BERTH_TRY(base, base_of(std::move(base)));
  // Short: providers put sockets below it.
  const fs::path path = base / (kPrefix + random_hex(6));
  if (::mkdir(path.c_str(), 0700) != 0)
    return fail(os_error(errno, fmt::format("cannot make the folder {}", path.string())));
  BERTH_TRY(os::Fd folder, os::open_file(path, O_RDONLY | O_DIRECTORY));
  // Where nothing can be locked nothing is marked, and so nothing is ever swept.
  if (lock(folder)) {
    BERTH_TRY(const os::Fd mark, os::open_file(path / kMark, O_WRONLY | O_CREAT | O_EXCL, 0600));
    BERTH_CHECK_OK(os::write_all(mark.get(), fmt::format("a run of berth conformance, process {}\n", ::getpid())));
  }
  return Scratch(path, std::move(folder));
}

std::vector<Scratch> Scratch::abandoned(fs::path base) {
  std::vector<Scratch> out;
  const auto place = base_of(std::move(base));
  if (!place) return out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(*place, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix) || !is_marked(entry.path())) continue;
    auto folder = os::open_file(entry.path(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    // Marked still: another process that sweeps may have been faster.
    if (!folder || !is_private(*folder) || !lock(*folder) || !is_marked(entry.path())) continue;
    out.push_back(Scratch(entry.path(), std::move(*folder)));
  }
  return out;
}

void Scratch::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

// The cases below a dead run's folder that had begun. A folder without a whole request is that of a case whose
// provider was not loaded yet, and goes with the rest.
std::vector<CaseRequest> begun_below(const fs::path& folder) {
  std::vector<CaseRequest> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto text = os::read_file(entry.path() / kRequestFile, kRequestFileBytesMax);
    auto request = text ? decode_request(*text) : Result<CaseRequest>(fail(text.error()));
    if (!request) continue;
    request->folder = entry.path();
    out.push_back(std::move(*request));
  }
  return out;
}

// Empty, or why it is not known that nothing is left.
Task<std::string> clean(boost::asio::any_io_executor executor, const RunRequest& run, CaseRequest request,
                        Cancellation& cancellation) {
  request.task = kCleanTask;
  request.worker = run.worker;
  request.budget_ms = kCleanBudgetMs;
  // The provider may have been built again since: names are all that a fresh process needs.
  request.digest = registry::inspect(request.file).digest;
  if (request.digest.empty()) co_return fmt::format("{} is not there any more", request.file.string());
  auto asked = co_await run_process(executor, run.program, request, cancellation);
  if (!asked) co_return asked.error().message();
  if (asked->result == "ok") co_return std::string();
  if (cancellation.requested()) co_return std::string("interrupted");
  co_return asked->text.empty() ? std::string("the provider's process did not end well") : asked->text;
}

}  // namespace

Task<Swept> sweep_dead_runs(boost::asio::any_io_executor executor, const RunRequest& request,
                            Cancellation& cancellation) {
  Swept swept;
  for (const Scratch& dead : Scratch::abandoned(request.scratch)) {
    std::string problem;
    for (CaseRequest& one : begun_below(dead.path())) {
      const fs::path folder = one.folder;
      const std::string why = co_await clean(executor, request, std::move(one), cancellation);
      std::error_code ignored;
      if (why.empty()) fs::remove_all(folder, ignored);
      else problem = fmt::format("{}: {}", folder.string(), why);
    }
    if (problem.empty()) {
      dead.remove();
      ++swept.runs;
    } else {
      swept.problems.push_back(std::move(problem));
    }
  }
  co_return swept;
}

}  // namespace berth::conformance
