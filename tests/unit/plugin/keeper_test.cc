// The keeper: one process of one user that holds a loaded provider for host after host.
#include "core/plugin/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "core/base/ids.h"
#include "core/base/json.h"
#include "core/os/fd.h"
#include "tests/unit/plugin/harness.h"

namespace berth::plugin {
namespace {

namespace fs = std::filesystem;
using registry::Hosting;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* kFiles = R"({"state":"files"})";

// One that only waits to be reaped is gone.
bool is_gone(int pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(stat, text)) return true;
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && text.substr(end).starts_with(") Z");
}

// Waits for what is bound to happen; false after a generous while.
bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

struct Host {
  Harness harness;
  std::unique_ptr<LoadedProvider> loaded;

  Provider& provider() { return loaded->provider(); }
  CreateSpec spec() const {
    CreateSpec spec;
    spec.owner_tag = "tests";
    spec.languages = {"python"};
    return spec;
  }
  Answer<Created> create(const std::string& name) {
    return harness.await(provider().create(within(30s), name, spec()));
  }
  Presence presence(const std::string& name) {
    return harness.await(provider().lookup(within(30s), name)).value.presence;
  }
  Outcome destroy(const std::string& name) {
    return harness.await(provider().destroy(within(30s), name, "")).outcome;
  }
  // As a host does that ends well.
  void close() {
    harness.close(*loaded);
    loaded.reset();
  }
};

class Keeper : public testing::Test {
 protected:
  Keeper() {
    fs::create_directories(folder_ / "state");
    fs::permissions(folder_, fs::perms::owner_all);
  }
  ~Keeper() override {
    std::error_code ignored;
    for (const KeeperReport& report : keepers()) ::kill(report.pid, SIGCONT);
    static_cast<void>(stop_keepers(runtime(), {}, 20s));
    fs::remove_all(folder_, ignored);
  }

  fs::path runtime() const { return folder_ / "runtime"; }
  LoadRequest request(const Host& host, const char* config) const {
    LoadRequest request = host.harness.request(Harness::reference(), Hosting::kWorker);
    request.state_dir = folder_ / "state";
    request.limits.cancel_grace = 200ms;
    request.configuration.providers["reference"].config = parse_json(config)->as_object();
    request.keeping = Keeping{runtime(), idle_};
    return request;
  }
  void load(Host& host, const char* config = kFiles) { load(host, request(host, config)); }
  static void load(Host& host, LoadRequest request) {
    auto loaded = host.harness.load(std::move(request));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    host.loaded = std::move(*loaded);
  }
  std::vector<KeeperReport> keepers() const {
    auto found = ask_keepers(runtime(), 5s);
    return found ? std::move(*found) : std::vector<KeeperReport>();
  }
  int only_pid() const {
    const auto found = keepers();
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? -1 : found.front().pid;
  }
  // Whether the provider has had the effect of a create.
  bool is_recorded(const std::string& name) const {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder_ / "state/entries", none))
      if (entry.path().filename().string().find(name) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> sockets() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(runtime()))
      if (entry.path().extension() == ".sock") names.push_back(entry.path());
    return names;
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("berth-keeper-{}", random_hex(6));
  Duration idle_ = 5min;
};

TEST_F(Keeper, StartsOnFirstUseAndServesTheNextHostTheSameProvider) {
  Host first;
  load(first);
  EXPECT_TRUE(first.loaded->kept());
  EXPECT_THAT(first.loaded->worker_pids(), IsEmpty());
  const int pid = only_pid();
  ASSERT_TRUE(first.create("berth-one").outcome.done());
  EXPECT_TRUE(first.destroy("berth-one").done());
  first.close();
  Host second;
  load(second);
  EXPECT_TRUE(second.loaded->kept());
  EXPECT_NE(second.presence("berth-one"), Presence::kPresent);
  const auto found = keepers();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].pid, pid);
  EXPECT_EQ(found[0].provider, "reference");
  EXPECT_EQ(found[0].state_dir, folder_ / "state");
  EXPECT_EQ(found[0].document.at("served").to_number<int>(), 2);
  EXPECT_EQ(found[0].document.at("hosts").to_number<int>(), 1);
  EXPECT_TRUE(second.loaded->violations().empty());
  second.close();
}

TEST_F(Keeper, IsNoChildAndHoldsNothingOfTheHostThatStartedIt) {
  Host host;
  load(host);
  const int pid = only_pid();
  EXPECT_NE(::getsid(pid), ::getsid(0));
  EXPECT_EQ(fs::read_symlink(fmt::format("/proc/{}/cwd", pid)), "/");
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string parent;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) parent = line.substr(5);
  EXPECT_NE(std::stoi(parent), ::getpid());
  host.close();
  EXPECT_FALSE(is_gone(pid));
}

TEST_F(Keeper, IsReachedInAPrivateFolderAtAPrivateSocket) {
  Host host;
  load(host);
  struct stat info {};
  ASSERT_EQ(::stat(runtime().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_THAT(sockets(), SizeIs(1));
  ASSERT_EQ(::stat(sockets()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  host.close();
}

TEST_F(Keeper, IsOneForAllWhoUseItFirstAtOnce) {
  constexpr int kHosts = 8;
  std::vector<std::thread> threads;
  std::atomic<int> kept{0};
  std::atomic<int> done{0};
  for (int i = 0; i < kHosts; ++i)
    threads.emplace_back([&, i] {
      Host host;
      load(host);
      if (!host.loaded) return;
      kept += host.loaded->kept() ? 1 : 0;
      const std::string name = fmt::format("berth-{}", i);
      done += host.create(name).outcome.done() && host.destroy(name).done() ? 1 : 0;
      host.close();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept, kHosts);
  EXPECT_EQ(done, kHosts);
  const auto found = keepers();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].document.at("served").to_number<int>(), kHosts);
}

TEST_F(Keeper, GoesWhenNobodyUsedItForItsIdleTimeAndLeavesNoSocket) {
  idle_ = 300ms;
  Host host;
  load(host);
  const int pid = only_pid();
  host.harness.idle(600ms);
  EXPECT_FALSE(is_gone(pid)) << "it went while a host was attached";
  host.close();
  EXPECT_TRUE(eventually([&] { return is_gone(pid); }));
  EXPECT_THAT(sockets(), IsEmpty());
}

TEST_F(Keeper, ToldToStopServesWhoIsThereAndNobodyElse) {
  Host first;
  load(first);
  const int pid = only_pid();
  const auto stopped = stop_keepers(runtime(), folder_ / "state", 100ms);
  ASSERT_TRUE(stopped.has_value());
  ASSERT_THAT(*stopped, SizeIs(1));
  EXPECT_FALSE(stopped->front().gone);
  EXPECT_TRUE(first.create("berth-one").outcome.done());
  Host second;
  load(second);
  EXPECT_TRUE(second.loaded->kept());
  EXPECT_NE(only_pid(), pid);
  EXPECT_EQ(second.presence("berth-one"), Presence::kPresent);
  EXPECT_TRUE(first.destroy("berth-one").done());
  first.close();
  EXPECT_TRUE(eventually([&] { return is_gone(pid); }));
  second.close();
  const auto rest = stop_keepers(runtime(), {}, 20s);
  ASSERT_TRUE(rest.has_value());
  ASSERT_THAT(*rest, SizeIs(1));
  EXPECT_TRUE(rest->front().gone);
  EXPECT_THAT(keepers(), IsEmpty());
}

TEST_F(Keeper, OfAnotherStateFolderIsNotStopped) {
  Host host;
  load(host);
  const auto stopped = stop_keepers(runtime(), folder_ / "other", 1s);
  ASSERT_TRUE(stopped.has_value());
  EXPECT_THAT(*stopped, IsEmpty());
  EXPECT_GT(only_pid(), 0);
  host.close();
}

TEST_F(Keeper, ThatWasKilledLeavesASocketWhichTheNextOneReplaces) {
  Host first;
  load(first);
  first.close();
  const int pid = only_pid();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return is_gone(pid); }));
  ASSERT_THAT(sockets(), SizeIs(1));
  EXPECT_THAT(keepers(), IsEmpty());
  Host second;
  load(second);
  EXPECT_TRUE(second.loaded->kept());
  EXPECT_NE(only_pid(), pid);
  second.close();
}

TEST_F(Keeper, OfAnotherConfigurationGivesWayToOneOfThisConfiguration) {
  Host first;
  load(first);
  first.close();
  const int pid = only_pid();
  Host second;
  load(second, R"({"state":"files","account":"acme"})");
  EXPECT_TRUE(second.loaded->kept());
  EXPECT_EQ(second.loaded->scope()[0].second, "acme");
  EXPECT_NE(only_pid(), pid);
  EXPECT_TRUE(eventually([&] { return is_gone(pid); }));
  second.close();
}

TEST_F(Keeper, GoesWhenItsProgramIsReplaced) {
  const fs::path program = folder_ / "worker";
  Host host;
  LoadRequest wanted = request(host, kFiles);
  fs::copy_file(wanted.worker, program);
  wanted.worker = program;
  const LoadRequest again = wanted;
  load(host, std::move(wanted));
  host.close();
  const int pid = only_pid();
  fs::copy_file(program, folder_ / "newer");
  fs::rename(folder_ / "newer", program);
  EXPECT_TRUE(eventually([&] { return is_gone(pid); }));
  load(host, again);
  EXPECT_TRUE(host.loaded->kept());
  EXPECT_NE(only_pid(), pid);
  host.close();
}

TEST_F(Keeper, GoesWithItsStateFolderAndWithItsSocket) {
  Host host;
  load(host);
  host.close();
  const int first = only_pid();
  fs::remove(sockets().at(0));
  EXPECT_TRUE(eventually([&] { return is_gone(first); }));
  load(host);
  host.close();
  const int second = only_pid();
  fs::remove_all(folder_ / "state");
  EXPECT_TRUE(eventually([&] { return is_gone(second); }));
}

TEST_F(Keeper, IsNotUsedWhereOthersCouldReachIt) {
  fs::create_directory(runtime());
  fs::permissions(runtime(), fs::perms::all);
  Host host;
  load(host);
  EXPECT_FALSE(host.loaded->kept());
  EXPECT_TRUE(host.harness.logged("others can use"));
  EXPECT_TRUE(host.create("berth-one").outcome.done());
  EXPECT_TRUE(host.destroy("berth-one").done());
  EXPECT_THAT(sockets(), IsEmpty());
  host.close();
}

TEST_F(Keeper, IsNotUsedInAFolderThatAnotherUserOwns) {
  if (::geteuid() != 0) {  // cannot give one away, but root owns many
    Host host;
    LoadRequest wanted = request(host, kFiles);
    wanted.keeping->folder = "/usr/lib";
    load(host, std::move(wanted));
    EXPECT_FALSE(host.loaded->kept());
    EXPECT_TRUE(host.harness.logged("belongs to uid 0"));
    return host.close();
  }
  fs::create_directory(runtime());
  ASSERT_EQ(::chown(runtime().c_str(), 65534, 65534), 0);
  fs::permissions(runtime(), fs::perms::owner_all);
  Host host;
  load(host);
  EXPECT_FALSE(host.loaded->kept());
  EXPECT_TRUE(host.harness.logged("belongs to uid 65534"));
  host.close();
  // Nor below one, where the owner could put another in its place.
  ASSERT_EQ(::chown(runtime().c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  load(host);
  EXPECT_FALSE(host.loaded->kept());
  host.close();
  ASSERT_EQ(::chown(folder_.c_str(), 0, 0), 0);
}

// What a process of another user is told, if it could reach the socket at all.
std::string told_to_another_user(const fs::path& socket_path) {
  int pipe[2];
  if (::pipe(pipe) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path.c_str());
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(2);
    static_cast<void>(::send(made, "berth-keeper 1 status\n", 22, MSG_NOSIGNAL));
    char text[1024];
    ssize_t got = 0;
    while ((got = ::recv(made, text, sizeof text, 0)) > 0)
      static_cast<void>(!::write(pipe[1], text, static_cast<std::size_t>(got)));
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string told;
  char text[1024];
  for (ssize_t got = 0; (got = ::read(pipe[0], text, sizeof text)) > 0;) told.append(text, static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? told : fmt::format("exit {}", status);
}

TEST_F(Keeper, AnswersNoProcessOfAnotherUser) {
  if (::geteuid() != 0) return;  // only root can become another user
  Host host;
  load(host);
  const fs::path socket = sockets().at(0);
  EXPECT_NE(told_to_another_user(socket), "") << "the folder kept nobody out";
  // And were the folder and the socket open to all, the keeper still looks at who asks.
  fs::permissions(folder_, fs::perms::all);
  fs::permissions(runtime(), fs::perms::all);
  fs::permissions(socket, fs::perms::all);
  EXPECT_EQ(told_to_another_user(socket), "");
  fs::permissions(runtime(), fs::perms::owner_all);
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_GT(only_pid(), 0);
  host.close();
}

TEST_F(Keeper, NeverHoldsAProviderThatMayBeGivenSecrets) {
  Host host;
  LoadRequest wanted = host.harness.request(Harness::test_plugin("faulty"), Hosting::kWorker);
  wanted.state_dir = folder_ / "state";
  wanted.keeping = Keeping{runtime(), idle_};
  load(host, std::move(wanted));
  EXPECT_FALSE(host.loaded->kept());
  EXPECT_FALSE(fs::exists(runtime()));
  host.close();
}

TEST_F(Keeper, ThatDoesNotAnswerIsDoneWithout) {
  Host first;
  load(first);
  first.close();
  const int pid = only_pid();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  Host second;
  load(second);
  EXPECT_FALSE(second.loaded->kept());
  EXPECT_TRUE(second.create("berth-one").outcome.done());
  EXPECT_TRUE(second.destroy("berth-one").done());
  second.close();
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
}

TEST_F(Keeper, LostDuringACreateLeavesItUncertainAndAWorkerGoesOn) {
  Host host;
  load(host, R"({"state":"files","slots":{"create":[{"onCalls":[1],"replyDelayMs":60000,"ignoreCancel":true}]}})");
  const int pid = only_pid();
  const auto pending = host.harness.begin(host.provider().create(within(50s), "berth-one", host.spec()));
  ASSERT_TRUE(host.harness.pump([&] { return is_recorded("berth-one"); }));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const auto created = host.harness.finish(pending);
  EXPECT_EQ(created.outcome.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(created.outcome.code, OutcomeCode::kHostWorkerDied);
  EXPECT_EQ(host.presence("berth-one"), Presence::kPresent);
  EXPECT_FALSE(host.loaded->kept());
  EXPECT_THAT(host.loaded->worker_pids(), SizeIs(1));
  EXPECT_TRUE(host.destroy("berth-one").done());
  host.close();
}

TEST_F(Keeper, EndsWhatAHostMadeWhenThatHostIsGone) {
  Host lost;
  load(lost);
  ASSERT_TRUE(lost.create("berth-one").outcome.done());
  ASSERT_TRUE(lost.create("berth-two").outcome.done());
  Host other;
  load(other);
  ASSERT_TRUE(other.create("berth-three").outcome.done());
  lost.loaded.reset();  // as a host that was killed: without a word
  EXPECT_TRUE(eventually([&] {
    return other.presence("berth-one") == Presence::kAbsentNow && other.presence("berth-two") == Presence::kAbsentNow;
  }));
  EXPECT_EQ(other.presence("berth-three"), Presence::kPresent);
  EXPECT_TRUE(other.destroy("berth-three").done());
  other.close();
}

TEST_F(Keeper, EndsWhatIsMadeForAHostThatIsGoneMeanwhile) {
  const char* slow = R"({"state":"files","slots":{"create":[{"onCalls":[1],"replyDelayMs":400,"ignoreCancel":true}]}})";
  Host lost;
  load(lost, slow);
  {
    const auto pending = lost.harness.begin(lost.provider().create(within(30s), "berth-one", lost.spec()));
    ASSERT_TRUE(lost.harness.pump([&] { return is_recorded("berth-one"); }));
    lost.loaded.reset();
  }
  Host other;
  load(other, slow);
  EXPECT_TRUE(eventually([&] { return other.presence("berth-one") == Presence::kAbsentNow; }));
  other.close();
}

}  // namespace
}  // namespace berth::plugin
