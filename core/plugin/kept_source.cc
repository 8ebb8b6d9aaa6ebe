#include "core/plugin/kept_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

#include "core/base/sha256.h"
#include "core/os/local_socket.h"
#include "core/os/process.h"
#include "core/plugin/keeper.h"
#include "core/plugin/keeper_main.h"
#include "core/plugin/worker_channel.h"
#include "core/plugin/worker_events.h"
#include "core/plugin/worker_main.h"

namespace berth::plugin {
namespace {

// What a host waits for a keeper that is being started by another, or that is busy: no longer than
// starting without it would take.
constexpr Duration kReachPatience = std::chrono::seconds(5);
constexpr Duration kLookAgain = std::chrono::milliseconds(5);

// Until there is something to read, or the deadline.
Task<void> wait_readable(boost::asio::any_io_executor executor, int fd, Instant deadline) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::posix::stream_descriptor watched(executor, ::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  boost::asio::steady_timer timer(executor, deadline);
  boost::system::error_code ignored;
  boost::system::error_code passed;
  co_await (watched.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               boost::asio::redirect_error(boost::asio::use_awaitable, ignored)) ||
            timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, passed)));
}

enum class KeeperAnswer { kNone, kAttached, kChanged, kEnded };

// The one line a keeper answers with. What follows it stays in the socket.
KeeperAnswer read_answer(int socket, std::string& line) {
  for (;;) {
    char next = 0;
    const ssize_t got = ::recv(socket, &next, 1, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return KeeperAnswer::kNone;
    if (got <= 0 || line.size() >= kGreetingBytesMax) return KeeperAnswer::kEnded;
    if (next != '\n') {
      line.push_back(next);
      continue;
    }
    if (line == kSaysAttached) return KeeperAnswer::kAttached;
    return line == kSaysChanged ? KeeperAnswer::kChanged : KeeperAnswer::kEnded;
  }
}

class Source final : public KeptSource {
 public:
  Source(boost::asio::any_io_executor executor, SourcePlan plan, KeptPlan kept)
      : executor_(std::move(executor)),
        kept_plan_(std::move(kept)),
        worker_(worker_plan(plan)),
        library_(::fcntl(plan.image.memory.get(), F_DUPFD_CLOEXEC, 3)),
        limits_(plan.limits),
        provider_(plan.image.inspection.manifest->id),
        identity_(identity_of(plan)),
        on_progress_(plan.on_progress),
        warnings_(plan.warnings),
        own_(worker_source(executor_, std::move(plan))) {
    worker_.library = library_.get();
  }

  bool restartable() const override { return true; }
  bool kept() const override { return kept_; }

  Task<Result<std::shared_ptr<Channel>>> make() override {
    // A keeper that was lost once is lost for this host: what it does next must not depend on it again.
    if (std::exchange(kept_, false)) given_up_ = true;
    if (!given_up_) {
      auto channel = co_await make_kept();
      if (channel) {
        kept_ = true;
        co_return std::static_pointer_cast<Channel>(*channel);
      }
      given_up_ = true;
      if (kept_plan_.on_log)
        kept_plan_.on_log(LogLevel::kInfo, "without a keeper: " + channel.error().message());
    }
    co_return co_await own_->make();
  }

  void opened(const Outcome& outcome) override {
    if (!kept_) own_->opened(outcome);
  }

 private:
  // Everything by which one that is kept could differ from one that is loaded now.
  std::string identity_of(const SourcePlan& plan) const {
    const OpenSpec& open = kept_plan_.open;
    return sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", kWireVersion, plan.image.inspection.digest,
                                  file_mark(worker_.program), open.owner_tag, open.state_dir,
                                  encode_hello(worker_.hello)));
  }

  Task<Result<std::shared_ptr<WorkerChannel>>> make_kept() {
    if (on_progress_) on_progress_("looking for its keeper");
    BERTH_CO_TRY(const os::PrivateFolder folder, os::PrivateFolder::open(kept_plan_.keeping.folder));
    const std::string name = keeper_name(kept_plan_.open.state_dir, provider_);
    const Instant deadline = now() + kReachPatience;
    std::shared_ptr<WorkerChannel> channel;
    while (!channel) {
      if (now() >= deadline) co_return fail(ErrorKind::kTimeout, "the keeper does not answer");
      auto socket = folder.connect(name + ".sock");
      if (socket) {
        if (co_await is_attached(socket->get(), deadline))
          channel = WorkerChannel::over(executor_, std::move(*socket), {});
      } else if (socket.error().kind() != ErrorKind::kNotFound) {
        co_return fail(std::move(socket).error());
      }
      if (channel) break;
      BERTH_CO_TRY(auto lock, folder.try_lock(name + ".lock"));
      // Whoever has it starts a keeper, or is one that goes.
      if (!lock) {
        boost::asio::steady_timer pause(executor_, kLookAgain);
        co_await pause.async_wait(boost::asio::use_awaitable);
        continue;
      }
      BERTH_CO_TRY(channel, start(folder, name, *lock));
    }
    const auto loading = co_await channel->loading(now() + limits_.load_deadline);
    starter_.reset();
    if (!loading.loaded) {
      channel->kill();
      co_return fail(ErrorKind::kUnavailable, "it did not load the provider: " + loading.why);
    }
    for (const registry::Finding& finding : loading.findings)
      if (finding.severity == registry::Severity::kWarning) warnings_->push_back(finding);
    co_return channel;
  }

  // False when another one is to be looked for: this one goes, or went.
  Task<bool> is_attached(int socket, Instant deadline) {
    const std::string greeting = fmt::format("{}{}{}\n", kKeeperGreeting, kAskAttach, identity_);
    if (!send_frame(socket, greeting, {})) co_return false;
    std::string line;
    for (;;) {
      const KeeperAnswer answer = read_answer(socket, line);
      if (answer != KeeperAnswer::kNone) co_return answer == KeeperAnswer::kAttached;
      if (now() >= deadline) co_return false;
      co_await wait_readable(executor_, socket, deadline);
    }
  }

  // With the lock: nobody else starts one, and what lies there is left by one that was killed.
  Result<std::shared_ptr<WorkerChannel>> start(const os::PrivateFolder& folder, const std::string& name,
                                               const os::Fd& lock) {
    folder.remove(name + ".sock");
    BERTH_TRY(const os::Fd listener, folder.listen(name + ".sock"));
    BERTH_TRY(auto sockets, os::socket_pair());
    BERTH_TRY(const os::Fd nothing, os::open_file("/dev/null", O_RDWR));
    KeeperArguments arguments;
    arguments.identity = identity_;
    arguments.idle = kept_plan_.keeping.idle;
    arguments.folder = folder.path();
    arguments.name = name;
    arguments.provider = provider_;
    arguments.state_dir = kept_plan_.open.state_dir;
    os::SpawnRequest request;
    request.program = worker_.program;
    request.arguments = to_arguments(arguments);
    request.environment = worker_.environment;
    request.descriptors = {{nothing.get(), 0},        {nothing.get(), 1},
                           {nothing.get(), 2},        {sockets.second.get(), kWorkerSocket},
                           {library_.get(), kWorkerLibrary}, {listener.get(), kKeeperListener},
                           {lock.get(), kKeeperLock}};
    auto process = os::Process::spawn(request);
    if (!process) {
      folder.remove(name + ".sock");
      return fail(std::move(process).error());
    }
    // Ends by itself as soon as the keeper is on its own.
    starter_.emplace(std::move(*process));
    return WorkerChannel::over(executor_, std::move(sockets.first), encode_hello(worker_.hello));
  }

  boost::asio::any_io_executor executor_;
  const KeptPlan kept_plan_;
  WorkerPlan worker_;
  const os::Fd library_;
  const HostingLimits limits_;
  const std::string provider_;
  const std::string identity_;
  const std::function<void(std::string_view)> on_progress_;
  const std::shared_ptr<registry::Findings> warnings_;
  const std::unique_ptr<ChannelSource> own_;
  std::optional<os::Process> starter_;
  bool kept_ = false;
  bool given_up_ = false;
};

}  // namespace

std::unique_ptr<KeptSource> kept_source(boost::asio::any_io_executor executor, SourcePlan plan,
                                        KeptPlan kept) {
  return std::make_unique<Source>(std::move(executor), std::move(plan), std::move(kept));
}

}  // namespace berth::plugin
