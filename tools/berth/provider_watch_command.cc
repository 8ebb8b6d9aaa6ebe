// berth provider watch: builds, judges and tests a provider again whenever one of its files is saved.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/os/process.h"
#include "tools/berth/commands.h"
#include "tools/berth/folder_watch.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kGrace{5};  // for a build that is asked to stop

struct Step {
  std::string name;
  std::vector<std::string> command;
};

std::vector<fs::path> providers_in(const fs::path& build) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(build, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".so" && at->is_regular_file(error)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What is left to do after a number of steps went well; nothing when that was all of it. Asked after
// each step, because only a build tells which providers there are.
std::optional<Step> step_after(const fs::path& folder, std::size_t done) {
  const fs::path build = folder / "build";
  const std::string berth = (os::executable_folder() / "berth").string();
  std::vector<Step> steps;
  std::vector<std::string> configure = {"cmake", "-S", folder.string(), "-B", build.string()};
  // Once it is configured, where packages are looked for is the author's.
  if (std::error_code error; !fs::exists(build / "CMakeCache.txt", error))
    configure.push_back("-DCMAKE_PREFIX_PATH=" + os::executable_folder().parent_path().string());
  steps.push_back({"configure", std::move(configure)});
  steps.push_back({"build", {"cmake", "--build", build.string()}});
  for (const fs::path& file : providers_in(build)) {
    steps.push_back({"inspect", {berth, "provider", "inspect", file.string()}});
  }
  steps.push_back({"test", {"ctest", "--test-dir", build.string(), "--output-on-failure"}});
  for (const fs::path& file : providers_in(build)) {
    steps.push_back({"conformance", {berth, "conformance", "run", file.string(), "--profile", "smoke"}});
  }
  if (done >= steps.size()) return std::nullopt;
  return steps[done];
}

// One step as a process of its own whose end wakes the session.
class RunningStep {
 public:
  static Result<std::unique_ptr<RunningStep>> start(boost::asio::any_io_executor executor, const Step& step,
                                                    int output, std::function<void()> on_end) {
    os::SpawnRequest request;
    request.program = "/usr/bin/env";
    request.arguments = step.command;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      request.environment.emplace_back(*variable);
    }
    request.descriptors = {{output, 1}, {STDERR_FILENO, 2}};
    auto process = os::Process::spawn(request);
    if (!process) return tl::unexpected<Error>(std::move(process).error());
    std::unique_ptr<RunningStep> running(new RunningStep(std::move(executor), std::move(*process)));
    running->end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [on_end = std::move(on_end)](const boost::system::error_code& error) {
                               if (!error) on_end();
                             });
    return running;
  }

  std::optional<os::ProcessEnd> end() { return process_.try_reap(); }
  // What it started has groups of its own, which only it can end.
  void ask_to_stop() { ::kill(-process_.pid(), SIGTERM); }

 private:
  RunningStep(boost::asio::any_io_executor executor, os::Process process)
      : process_(std::move(process)), end_(executor, ::fcntl(process_.pidfd(), F_DUPFD_CLOEXEC, 0)) {}

  os::Process process_;
  boost::asio::posix::stream_descriptor end_;
};

class WatchSession {
 public:
  WatchSession(Context& context, fs::path folder)
      : context_(context), folder_(std::move(folder)), wake_(context.executor) {}

  Task<int> run() {
    auto watch = FolderWatch::start(context_.executor, folder_, [this] { notice(changed_); });
    if (!watch) co_return report(context_, Failure{Exit::kInput, std::move(watch).error()});
    const auto cancelled = context_.cancellation.subscribe([this] { wake_.cancel(); });
    while (!context_.cancellation.requested()) {
      if (changed_) {
        co_await stop_step();
        changed_ = false;
        done_ = 0;
        begin_next();
      }
      if (ended_) finish_step();
      const bool noticed = changed_ || ended_ || context_.cancellation.requested();
      if (!noticed) co_await sleep(std::chrono::steady_clock::time_point::max());
    }
    co_await stop_step();
    (*watch)->stop();
    co_return exit_of_signal(context_.interrupted_by);
  }

 private:
  void notice(bool& what) {
    what = true;
    wake_.cancel();
  }

  // Until something is noticed, or until a time.
  Task<void> sleep(std::chrono::steady_clock::time_point until) {
    boost::system::error_code woken;
    wake_.expires_at(until);
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, woken);
    co_await wake_.async_wait(std::move(token));
  }

  void begin_next() {
    const auto step = step_after(folder_, done_);
    if (!step) {
      context_.console.note("all is well; waiting for a change (Ctrl-C ends)");
      return;
    }
    name_ = step->name;
    context_.console.note(fmt::format("{}: {}", step->name, fmt::join(step->command, " ")));
    const int output = context_.common.json ? STDERR_FILENO : STDOUT_FILENO;
    auto started = RunningStep::start(context_.executor, *step, output, [this] { notice(ended_); });
    if (started) step_ = std::move(*started);
    else context_.console.error(std::string(started.error().message()));
  }

  void finish_step() {
    ended_ = false;
    const auto end = step_ ? step_->end() : std::nullopt;
    if (!end) return;
    step_.reset();
    const bool good = end->exit_code == 0;
    if (context_.common.json) {
      const boost::json::object line{{"step", name_}, {"good", good}, {"end", to_string(*end)}};
      context_.console.print(boost::json::serialize(line) + "\n");
    }
    if (good) {
      ++done_;
      begin_next();
    } else {
      context_.console.error(fmt::format("{} {}; waiting for a change (Ctrl-C ends)", name_, to_string(*end)));
    }
  }

  // A compiler is given the time to remove what it has half written.
  Task<void> stop_step() {
    if (!step_) co_return;
    step_->ask_to_stop();
    const auto until = std::chrono::steady_clock::now() + kGrace;
    while (!ended_ && std::chrono::steady_clock::now() < until) co_await sleep(until);
    step_.reset();
    ended_ = false;
  }

  Context& context_;
  fs::path folder_;
  boost::asio::steady_timer wake_;
  std::unique_ptr<RunningStep> step_;
  std::string name_;
  std::size_t done_ = 0;
  bool changed_ = true;  // the first time counts as a change
  bool ended_ = false;
};

}  // namespace

Task<int> watch_provider(Context& context, ProviderWatchOptions options) {
  std::error_code error;
  const fs::path folder = fs::canonical(options.folder, error);
  if (error || !fs::exists(folder / "CMakeLists.txt")) {
    const std::string sentence =
        fmt::format("{} has no CMakeLists.txt; give the folder of a provider, such as 'berth provider new' makes",
                    printable(options.folder));
    co_return report(context, Failure{Exit::kInput, Error(ErrorKind::kNotFound, sentence)});
  }
  WatchSession session(context, folder);
  co_return co_await session.run();
}

}  // namespace berth::cli
