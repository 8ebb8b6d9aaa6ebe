#include "core/plugin/keeper_main.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "core/base/halt_poll.h"
#include "core/os/local_socket.h"
#include "core/os/process.h"
#include "core/plugin/keeper.h"
#include "core/plugin/keeper_loop.h"
#include "core/plugin/process_end.h"
#include "core/plugin/worker_main.h"

namespace berth::plugin {
namespace {

// How often it looks whether what it stands on is still there.
constexpr Duration kLookEvery = std::chrono::seconds(2);
// A host sends its hello when it starts a worker, not later.
constexpr Duration kHelloPatience = std::chrono::seconds(10);
constexpr Duration kShutdownPatience = std::chrono::seconds(20);

// Away from the process group, the session and the children of the host that started it. Before any
// thread exists.
void detach() {
  auto pipe = os::make_pipe();
  const pid_t child = pipe ? ::fork() : -1;
  if (child < 0) leave(kExitProtocol);
  if (child > 0) {
    pipe->write_end.reset();
    char none = 0;
    // The host ends what is left of this process's group once this process has ended.
    while (::read(pipe->read_end.get(), &none, 1) < 0 && errno == EINTR) {
    }
    ::_exit(kExitOrderly);
  }
  ::setsid();
  if (::chdir("/") != 0) leave(kExitProtocol);
}

std::optional<KeeperArguments> parse_keeper_arguments(int argc, char** argv) {
  if (argc != 8) return std::nullopt;
  KeeperArguments read;
  const std::string_view idle = argv[3];
  std::int64_t idle_ns = 0;
  const auto [end, error] = std::from_chars(idle.data(), idle.data() + idle.size(), idle_ns);
  if (error != std::errc() || end != idle.data() + idle.size() || idle_ns < 0) return std::nullopt;
  read.identity = argv[2];
  read.idle = Duration(idle_ns);
  read.folder = argv[4];
  read.name = argv[5];
  read.provider = argv[6];
  read.state_dir = argv[7];
  return read;
}

// What a keeper stands on: the same file under the same name as when it began.
class Foothold {
 public:
  explicit Foothold(std::string path) : path_(std::move(path)), found_(mark_of(path_)) {}
  bool holds() const { return !found_.empty() && mark_of(path_) == found_; }

 private:
  // Not the time of change of a socket or a folder, which is in use.
  static std::string mark_of(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return {};
    return S_ISREG(info.st_mode) ? file_mark(path) : fmt::format("{}:{}", info.st_dev, info.st_ino);
  }
  std::string path_;
  std::string found_;
};

class Keeper {
 public:
  Keeper(KeeperArguments arguments, os::PrivateFolder folder)
      : arguments_(std::move(arguments)),
        folder_(std::move(folder)),
        socket_name_(arguments_.name + ".sock"),
        listener_(kKeeperListener),
        lock_(kKeeperLock),
        program_(std::filesystem::read_symlink("/proc/self/exe").string()),
        socket_(folder_.path() / socket_name_),
        state_dir_(arguments_.state_dir),
        loop_(arguments_) {}

  [[noreturn]] void run() {
    if (!loop_.load(os::Fd(kWorkerSocket), kWorkerLibrary, now() + kHelloPatience)) leave(kExitProtocol);
    for (;;) {
      loop_.proceed();
      if (loop_.retiring() && listener_.valid()) retire();
      if (loop_.retiring() && loop_.empty()) end();
      wait();
      if (listener_.valid()) accept_all();
      loop_.read_all();
      if (!loop_.retiring()) look();
    }
  }

 private:
  void wait() {
    std::vector<pollfd> watched = loop_.descriptors();
    if (listener_.valid()) watched.push_back({listener_.get(), POLLIN, 0});
    const Instant begun = now();
    Instant until = begun + kLookEvery;
    if (!loop_.retiring() && !loop_.in_use()) until = std::min(until, loop_.last_used() + arguments_.idle);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - begun).count();
    const auto count = static_cast<nfds_t>(watched.size());
    const bool soon = patience_.ready_soon([&] { return ::poll(watched.data(), count, 0) != 0; });
    if (soon) return;
    ::poll(watched.data(), count, static_cast<int>(std::max<std::int64_t>(left, 0)));
    patience_.slept();
  }

  void accept_all() {
    for (;;) {
      os::Fd made(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!made.valid()) return;
      if (os::check_peer(made.get())) loop_.add(std::move(made));
    }
  }

  void look() {
    const Instant when = now();
    if (!loop_.in_use() && when >= loop_.last_used() + arguments_.idle) {
      accept_all();  // one may have come in this moment
      if (loop_.empty()) loop_.retire("nobody used it");
      return;
    }
    if (when < looked_at_ + kLookEvery) return;
    looked_at_ = when;
    if (!program_.holds()) loop_.retire("its program was replaced");
    if (!socket_.holds()) loop_.retire("its socket is gone");
    if (!state_dir_.holds()) loop_.retire("its state folder is gone");
    if (loop_.stuck(when)) loop_.retire("an operation does not end");
  }

  // Nobody finds it any more, and another one may begin.
  void retire() {
    if (socket_.holds()) folder_.remove(socket_name_);
    accept_all();  // who connected before that is told that this one goes
    listener_.reset();
    folder_.give_back(arguments_.name + ".lock", std::move(lock_));
  }

  [[noreturn]] void end() {
    const Instant until = now() + kShutdownPatience;
    loop_.begin_shutdown(until);
    while (!loop_.is_shut_down() && now() < until) {
      pollfd watched = loop_.wake_descriptor();
      ::poll(&watched, 1, 100);
      loop_.proceed();
    }
    leave(kExitOrderly);
  }

  const KeeperArguments arguments_;
  const os::PrivateFolder folder_;
  const std::string socket_name_;
  os::Fd listener_;
  os::Fd lock_;
  const Foothold program_;
  const Foothold socket_;
  const Foothold state_dir_;
  KeeperLoop loop_;
  HaltPoll patience_;
  Instant looked_at_{};
};

}  // namespace

std::vector<std::string> to_arguments(const KeeperArguments& arguments) {
  return {std::string(kKeepArgument), arguments.identity, fmt::format("{}", arguments.idle.count()),
          arguments.folder,           arguments.name,     arguments.provider,
          arguments.state_dir};
}

int serve_as_keeper(int argc, char** argv) {
  const auto arguments = parse_keeper_arguments(argc, argv);
  struct stat info {};
  if (!arguments || ::fstat(kKeeperListener, &info) != 0 || !S_ISSOCK(info.st_mode) ||
      ::fstat(kKeeperLock, &info) != 0 || !S_ISREG(info.st_mode)) {
    std::fputs("a keeper is started by berth; it does nothing by itself\n", stderr);
    return 2;
  }
  ::fcntl(kKeeperListener, F_SETFD, FD_CLOEXEC);
  ::fcntl(kKeeperLock, F_SETFD, FD_CLOEXEC);
  detach();
  auto folder = os::PrivateFolder::find(arguments->folder);
  if (!folder) return kExitProtocol;
  // Never destroyed: the provider may call its host's table for as long as the process lives.
  auto* keeper = new Keeper(*arguments, std::move(*folder));
  keeper->run();
}

}  // namespace berth::plugin
