#include "tools/bench/sandboxes/spawned.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/os/fd.h"
#include "core/os/process.h"
#include "tools/bench/sandboxes/family.h"

namespace berth::bench {
namespace {

constexpr std::size_t kOutputMaxBytes = std::size_t{1} << 20;

struct Running {
  std::size_t index = 0;
  pid_t pid = -1;
  os::Fd output;
};

// posix_spawn's own description of what the child does first.
class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Runner {
 public:
  Runner(std::vector<std::vector<std::string>> commands, const std::filesystem::path& folder)
      : folder_(folder), all_(commands.size()) {
    for (std::size_t i = 0; i < commands.size(); ++i) all_[i].argv = std::move(commands[i]);
  }

  Result<std::vector<Spawned>> run(std::size_t in_flight) {
    for (std::size_t next = 0; next < all_.size() || !running_.empty();) {
      while (problem_.empty() && next < all_.size() && running_.size() < in_flight) start(next++);
      if (running_.empty()) break;
      wait_for_some();
    }
    if (!problem_.empty()) return fail(ErrorKind::kInternal, problem_);
    return std::move(all_);
  }

 private:
  void start(std::size_t index) {
    Spawned& one = all_[index];
    std::vector<char*> argv;
    for (std::string& argument : one.argv) argv.push_back(argument.data());
    argv.push_back(nullptr);
    auto pipe = os::make_pipe();
    if (!pipe) return complain("no pipe: " + pipe.error().message());
    FileActions actions;
    posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions.get(), pipe->write_end.get(), 1);
    posix_spawn_file_actions_addchdir_np(actions.get(), folder_.c_str());
    Running running{index, -1, std::move(pipe->read_end)};
    one.begun = now();
    const int error =
        posix_spawnp(&running.pid, argv[0], actions.get(), nullptr, argv.data(), environ);
    if (error != 0) return complain(fmt::format("cannot start {}: {}", argv[0], strerror(error)));
    running_.push_back(std::move(running));
  }

  void wait_for_some() {
    std::vector<pollfd> watched;
    for (const Running& one : running_) watched.push_back({one.output.get(), POLLIN, 0});
    if (poll(watched.data(), watched.size(), -1) < 0) return;
    // From the last to the first, so that places stay right while some are taken out.
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (watched[i].revents != 0 && !read_some(running_[i])) {
        reap(running_[i]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // False at the end of its output.
  bool read_some(Running& one) {
    char buffer[4096];
    const ssize_t got = read(one.output.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    Spawned& spawned = all_[one.index];
    if (spawned.output.empty()) spawned.first_output = now();
    if (spawned.output.size() < kOutputMaxBytes) {
      spawned.output.append(buffer, static_cast<std::size_t>(got));
    }
    return true;
  }

  void reap(Running& one) {
    int status = 0;
    while (waitpid(one.pid, &status, 0) < 0 && errno == EINTR) {
    }
    Spawned& spawned = all_[one.index];
    spawned.ended = now();
    if (spawned.output.empty()) spawned.first_output = spawned.ended;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      complain(fmt::format("{} ended with status {:#x} after '{}'", fmt::join(spawned.argv, " "),
                           status, spawned.output.substr(0, 300)));
    }
  }

  void complain(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  const std::filesystem::path folder_;
  std::vector<Spawned> all_;
  std::vector<Running> running_;
  std::string problem_;
};

}  // namespace

Result<std::vector<Spawned>> run_spawned(std::vector<std::vector<std::string>> commands,
                                         std::size_t in_flight,
                                         const std::filesystem::path& folder) {
  return Runner(std::move(commands), folder).run(in_flight);
}

Result<Spawned> run_spawned(const std::vector<std::string>& argv,
                            const std::filesystem::path& folder) {
  BERTH_TRY(auto all, run_spawned({argv}, 1, folder));
  return std::move(all.front());
}

}  // namespace berth::bench
