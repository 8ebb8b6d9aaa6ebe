#include "core/plugin/keeper.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/plugin/keeper_main.h"
#include "core/plugin/worker_events.h"

namespace berth::plugin {
namespace {

constexpr std::size_t kAnswerBytesMax = 65536;
constexpr std::size_t kNameHexCount = 16;

bool readable(int fd, Instant until) {
  pollfd watched{fd, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
  return ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 1;
}

Result<std::string> read_report(int socket, Instant until) {
  std::string text;
  while (text.size() < kAnswerBytesMax) {
    char chunk[4096];
    if (!readable(socket, until)) return fail(ErrorKind::kTimeout, "a keeper does not answer");
    const ssize_t got = ::recv(socket, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(os_error(errno, "cannot read what a keeper answers"));
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return fail(ErrorKind::kLimit, "a keeper answers more than can be read");
}

Result<KeeperReport> ask_keeper(const os::PrivateFolder& folder, const std::string& name,
                         std::string_view question, Instant until) {
  BERTH_TRY(const os::Fd socket, folder.connect(name));
  if (!send_frame(socket.get(), fmt::format("{}{}\n", kKeeperGreeting, question), {}))
    return fail(ErrorKind::kUnavailable, "a keeper takes no question");
  BERTH_TRY(const std::string text, read_report(socket.get(), until));
  BERTH_TRY(boost::json::value parsed, parse_json(text));
  if (!parsed.is_object()) return fail(ErrorKind::kCorrupt, "a keeper's answer is no object");
  KeeperReport report;
  report.document = std::move(parsed.get_object());
  const auto* pid = report.document.if_contains("pid");
  if (pid == nullptr || !pid->is_int64()) return fail(ErrorKind::kCorrupt, "a keeper does not say its pid");
  report.pid = static_cast<int>(pid->get_int64());
  BERTH_TRY(report.provider, json_string(report.document, "provider", "keeper"));
  BERTH_TRY(report.state_dir, json_string(report.document, "state_dir", "keeper"));
  return report;
}

Result<std::optional<os::PrivateFolder>> find_folder(const std::filesystem::path& path) {
  auto folder = os::PrivateFolder::find(path);
  if (folder) return std::optional<os::PrivateFolder>(std::move(*folder));
  if (folder.error().kind() == ErrorKind::kNotFound) return std::optional<os::PrivateFolder>();
  return fail(std::move(folder).error());
}

std::vector<std::string> sockets_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".sock") names.push_back(at->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

KeeperReport silent(const os::PrivateFolder& folder, const std::string& name, const Error& error) {
  KeeperReport report;
  report.problem = fmt::format("the keeper at '{}' is of no use: {}", (folder.path() / name).string(),
                               error.message());
  report.document["problem"] = report.problem;
  return report;
}

// Until the process has ended, which is not a child of this one. True when it has.
bool wait_gone(int pid, Instant until) {
  const os::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return errno == ESRCH;
  return readable(process.get(), until);
}

}  // namespace

std::string file_mark(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return fmt::format("{}:{}:{}:{}.{}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

bool KeeperReport::serves(const std::filesystem::path& state) const {
  const std::string own = state_dir.string();
  return own == state.string() || own.starts_with(state.string() + "/");
}

std::string keeper_name(const std::filesystem::path& state_dir, const std::string& provider) {
  std::string text = fmt::format("{}\n{}\n{}\n", state_dir.string(), provider, file_mark("/"));
  // What a sandbox is made from, and what it is apart from, is that of whoever makes it.
  for (const char* space : {"cgroup", "mnt", "net", "pid", "user"}) {
    struct stat info {};
    if (::stat(fmt::format("/proc/self/ns/{}", space).c_str(), &info) != 0) continue;
    text += fmt::format("{}:{}\n", info.st_dev, info.st_ino);
  }
  return sha256_hex(text).substr(0, kNameHexCount);
}

Result<std::vector<KeeperReport>> ask_keepers(const std::filesystem::path& path, Duration patience) {
  BERTH_TRY(const auto folder, find_folder(path));
  std::vector<KeeperReport> found;
  if (!folder) return found;
  for (const std::string& name : sockets_in(path)) {
    // A socket without anyone behind it is left by one that was killed; the next one takes its place.
    auto report = ask_keeper(*folder, name, kAskStatus, now() + patience);
    if (report) found.push_back(std::move(*report));
    else if (report.error().kind() != ErrorKind::kNotFound)
      found.push_back(silent(*folder, name, report.error()));
  }
  return found;
}

Result<std::vector<KeeperReport>> stop_keepers(const std::filesystem::path& path,
                                               const std::filesystem::path& state_dir, Duration patience) {
  BERTH_TRY(const auto folder, find_folder(path));
  std::vector<KeeperReport> stopped;
  if (!folder) return stopped;
  for (const std::string& name : sockets_in(path)) {
    auto report = ask_keeper(*folder, name, kAskStatus, now() + patience);
    if (report && !state_dir.empty() && !report->serves(state_dir)) continue;
    if (report) report = ask_keeper(*folder, name, kAskStop, now() + patience);
    if (!report && report.error().kind() == ErrorKind::kNotFound) continue;
    if (report) report->gone = wait_gone(report->pid, now() + patience);
    stopped.push_back(report ? std::move(*report) : silent(*folder, name, report.error()));
  }
  return stopped;
}

}  // namespace berth::plugin
