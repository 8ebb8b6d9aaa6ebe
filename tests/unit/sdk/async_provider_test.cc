// The same contract through coroutines on the provider's own loop.
#include "berth/async_provider.hpp"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <iterator>
#include <set>

#include "berth/testing/fake_host.hpp"

namespace berth::tests {
namespace {

using testing::FakeHost;

class Ticking : public AsyncProvider {
 public:
  Awaitable<void> open(AsyncOperation&, const OpenSpec& spec) override {
    co_await tick();
    if (spec.config_json.find("refuse") != std::string_view::npos)
      throw Failure::rejected(Code::kPermission, "not allowed");
  }
  Awaitable<ProbeReport> probe(AsyncOperation&) override {
    co_return ProbeReport{true, "ticking", {}, {}};
  }
  Awaitable<Scope> scope(AsyncOperation&) override { co_return Scope{{"account", "a1"}}; }
  Awaitable<Created> create(AsyncOperation& operation, std::string_view name,
                            const CreateSpec& spec) override {
    if (spec.image == "throw") throw std::runtime_error("no");
    for (int i = 0; i < (spec.image == "slow" ? 30 : 1); ++i) co_await tick();
    saw_cancel_ = operation.cancelled();
    names_.insert(std::string(name));
    co_return Created{std::string(name), "ref", {{"account", "a1"}}};
  }
  Awaitable<Found> lookup(AsyncOperation&, std::string_view name) override {
    Found found;
    found.presence = names_.contains(std::string(name)) ? Presence::kPresent : Presence::kAbsentNow;
    co_return found;
  }
  Awaitable<RunResult> run(AsyncOperation& operation, std::string_view,
                           const Command& command) override {
    RunResult result;
    result.cause = Cause::kExited;
    result.exit_code = 0;
    if (command.argv[0] == "sleep") co_await tick(std::chrono::hours(1));
    char buffer[32];
    while (command.stdin_source == StdinSource::kInput) {
      const std::size_t got = co_await operation.input(buffer);
      if (got == 0) break;
      co_await operation.output(Stream::kStdout, {buffer, got});
    }
    for (const std::string_view argument : command.argv)
      co_await operation.output(Stream::kStdout, argument);
    co_return result;
  }
  Awaitable<void> put_file(AsyncOperation&, std::string_view, const PutFile&) override {
    co_return;
  }
  Awaitable<GotFile> get_file(AsyncOperation&, std::string_view, const GetFile&) override {
    co_return GotFile{};
  }
  Awaitable<Destroyed> destroy(AsyncOperation&, std::string_view name, std::string_view) override {
    names_.erase(std::string(name));
    co_return Destroyed{};
  }
  Awaitable<ListPage> list_owned(AsyncOperation&, std::string_view, std::string_view) override {
    co_return ListPage{};
  }
  Awaitable<void> shutdown(AsyncOperation&) override { co_await tick(); }

  static inline bool saw_cancel_ = false;

 private:
  Awaitable<void> tick(std::chrono::nanoseconds time = std::chrono::milliseconds(1)) {
    boost::asio::steady_timer timer(executor(), std::chrono::ceil<std::chrono::milliseconds>(time));
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  std::set<std::string> names_;
};

class AsyncProviderTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(host_.shutdown().done());
    for (const std::string& violation : host_.violations()) ADD_FAILURE() << violation;
  }
  FakeHost host_{&provider_entry<Ticking>};
};

TEST_F(AsyncProviderTest, OpensRunsAndClosesOnItsOwnLoop) {
  ASSERT_TRUE(host_.open().done());
  EXPECT_EQ(host_.probe().get<ProbeReport>().backend, "ticking");
  EXPECT_EQ(host_.create("berth-1").get<Created>().name, "berth-1");
  EXPECT_EQ(host_.lookup("berth-1").get<Found>().presence, Presence::kPresent);
  EXPECT_TRUE(host_.destroy("berth-1").done());
  EXPECT_EQ(host_.table().fence, nullptr);
}

TEST_F(AsyncProviderTest, AFailedOpenMayBeTriedAgain) {
  EXPECT_EQ(host_.open(R"({"refuse":1})").code, Code::kPermission);
  ASSERT_TRUE(host_.open().done());
}

std::size_t threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Of event loops: the host keeps descriptors of its own for every operation.
std::size_t loops() {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    if (std::filesystem::read_symlink(each, gone).string().find("eventpoll") != std::string::npos)
      ++count;
  return count;
}

TEST_F(AsyncProviderTest, AFailedOpenLeavesNeitherThreadNorLoop) {
  EXPECT_EQ(host_.open(R"({"refuse":1})").code, Code::kPermission);
  const std::size_t before = threads();
  EXPECT_EQ(loops(), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host_.open(R"({"refuse":1})").code, Code::kPermission);
  EXPECT_EQ(loops(), 0u);
  EXPECT_LE(threads(), before + 2) << "a host lends threads as it needs them";
}

TEST_F(AsyncProviderTest, AnExceptionAssertsNothing) {
  ASSERT_TRUE(host_.open().done());
  const auto thrown = host_.create("berth-1", {.image = "throw"});
  EXPECT_EQ(thrown.outcome_class, OutcomeClass::kUnset);
  EXPECT_EQ(thrown.message, "provider: create: no");
}

TEST_F(AsyncProviderTest, CancellationEndsTheWaitOfARun) {
  ASSERT_TRUE(host_.open().done());
  const berth_op op = host_.start_run("ref", {.argv = {"sleep"}});
  host_.cancel(op);
  const auto answer = host_.wait(op);
  EXPECT_EQ(answer.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.code, Code::kCancelled);
}

TEST_F(AsyncProviderTest, ADeadlineEndsTheWaitOfARunLikeACancellation) {
  ASSERT_TRUE(host_.open().done());
  host_.set_deadline(std::chrono::milliseconds(30));
  const auto answer = host_.run("ref", {.argv = {"sleep"}});
  EXPECT_EQ(answer.outcome_class, OutcomeClass::kUncertain);
  EXPECT_EQ(answer.code, Code::kCancelled);
}

TEST_F(AsyncProviderTest, CancellationDoesNotTearACreateApart) {
  ASSERT_TRUE(host_.open().done());
  const berth_op op = host_.start_create("berth-1", {.image = "slow"});
  host_.cancel(op);
  EXPECT_TRUE(host_.wait(op).done());
  EXPECT_TRUE(Ticking::saw_cancel_);
}

TEST_F(AsyncProviderTest, InputAndOutputSuspendInsteadOfWaiting) {
  ASSERT_TRUE(host_.open().done());
  host_.behave({.pause_every_bytes = 4, .input_chunk_bytes = 3, .input_arrives_late = true});
  EXPECT_EQ(host_.run("ref", {.argv = {"end"}, .input = "0123456789"}).out, "0123456789end");
}

TEST_F(AsyncProviderTest, ShutdownWaitsForOpenOperations) {
  ASSERT_TRUE(host_.open().done());
  const berth_op running = host_.start_run("ref", {.argv = {"sleep"}});
  const berth_op closing = host_.start_shutdown();
  EXPECT_FALSE(host_.completed(closing));
  host_.cancel(running);
  EXPECT_TRUE(host_.wait(closing).done());
  EXPECT_TRUE(host_.completed(running));
}

}  // namespace
}  // namespace berth::tests
