// A host over the local provider.
#include "core/host/host.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "tests/store/support.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

// Runs `work` with a host on a loop of its own, and closes the host.
Status with_host(HostOptions options, std::function<Task<void>(Host&)> work) {
  boost::asio::io_context loop(1);
  auto host = Host::open(loop.get_executor(), std::move(options));
  if (!host) return fail(host.error());
  auto both = [](Host& opened, std::function<Task<void>(Host&)> body) -> Task<void> {
    co_await body(opened);
    co_await opened.close();
  };
  boost::asio::co_spawn(loop, both(**host, std::move(work)), boost::asio::detached);
  loop.run();
  return {};
}

ExecutionRequest print_request(std::string call) {
  ExecutionRequest request;
  request.code = "print('from ' + 'python')\n";
  request.key = {"ada", "lessons", std::move(call)};
  return request;
}

class HostTest : public ::testing::Test {
 protected:
  HostOptions options() const {
    HostOptions made;
    made.state_dir = folder / "state";
    made.installation = installation;
    made.configuration.providers["local"].file = BERTH_LOCAL_PROVIDER;
    return made;
  }

  void SetUp() override {
    std::filesystem::create_directories(installation);
    std::filesystem::create_directory_symlink(BERTH_WORKER_FOLDER, installation / "bin");
  }

  test::Folder folder;
  std::filesystem::path installation = folder / "installation";
};

Task<ExecutionResult> run(Host& host, ExecutionRequest request) {
  Cancellation never;
  const auto provider = co_await host.load("local");
  EXPECT_TRUE(provider) << provider.error().message();
  co_return co_await host.execute(**provider, std::move(request), nullptr, never);
}

TEST_F(HostTest, RunsAProgramAndKeepsItsReceipt) {
  const Status done = with_host(options(), [](Host& host) -> Task<void> {
    const ExecutionResult result = co_await run(host, print_request("1"));
    EXPECT_EQ(result.status, ExecutionStatus::kCompleted) << result.message;
    EXPECT_EQ(result.stdout_text.text, "from python\n");
    ReceiptFilter of_ada;
    of_ada.owner = "ada";
    const auto receipts = co_await host.receipts(of_ada);
    EXPECT_TRUE(receipts);
    EXPECT_EQ(receipts->size(), 1u);
    EXPECT_EQ(receipts->at(0).settlement, Settlement::kCompleted);
    EXPECT_EQ(receipts->at(0).cost, Money::micros(50'000));
  });
  ASSERT_TRUE(done) << done.error().message();
}

TEST_F(HostTest, AnotherHostAnswersTheSameCallFromTheRecord) {
  std::string first;
  ASSERT_TRUE(with_host(options(), [&](Host& host) -> Task<void> {
    first = (co_await run(host, print_request("1"))).message;
  }));
  ASSERT_TRUE(with_host(options(), [&](Host& host) -> Task<void> {
    EXPECT_EQ((co_await run(host, print_request("1"))).message, first);
    const ReceiptFilter all;
    const auto receipts = co_await host.receipts(all);
    EXPECT_EQ(receipts->size(), 1u);
  }));
}

TEST_F(HostTest, ResultsOlderThanTheirRetentionAreDroppedBesideTheNextRun) {
  ASSERT_TRUE(with_host(options(), [](Host& host) -> Task<void> {
    co_await run(host, print_request("1"));
  }));
  HostOptions forgetful = options();
  forgetful.result_retention = Duration::zero();
  ASSERT_TRUE(with_host(forgetful, [](Host& host) -> Task<void> {
    co_await run(host, print_request("2"));
    bool expired = false;
    UnitOfWork look = [&expired](Transaction& rows) -> Status {
      BERTH_TRY(const auto intent, rows.intent_of_call({"ada", "lessons", "1"}));
      expired = intent && intent->result_expired;
      return {};
    };
    const Status read = co_await host.store().read(std::move(look));
    EXPECT_TRUE(read);
    EXPECT_TRUE(expired);
  }));
}

TEST_F(HostTest, AProviderIsLoadedOnceHoweverOftenItIsAskedFor) {
  ASSERT_TRUE(with_host(options(), [](Host& host) -> Task<void> {
    const auto executor = co_await boost::asio::this_coro::executor;
    HostedProvider* beside = nullptr;
    auto ask = [](Host& opened, HostedProvider*& found) -> Task<void> {
      found = *co_await opened.load("local");
    };
    boost::asio::co_spawn(executor, ask(host, beside), boost::asio::detached);
    HostedProvider* const first = *co_await host.load("local");
    HostedProvider* const again = *co_await host.load("local");
    EXPECT_EQ(first, again);
    // The one that came second may still be closing its own worker.
    for (int turns = 0; turns < 1000 && beside == nullptr; ++turns) {
      boost::asio::steady_timer soon(executor, std::chrono::milliseconds(10));
      co_await soon.async_wait(boost::asio::use_awaitable);
    }
    EXPECT_EQ(beside, first);
  }));
}

TEST_F(HostTest, AProviderThatIsNowhereIsAnErrorThatNamesIt) {
  ASSERT_TRUE(with_host(options(), [](Host& host) -> Task<void> {
    const auto provider = co_await host.load("nobody");
    EXPECT_FALSE(provider);
    EXPECT_THAT(provider ? std::string() : provider.error().message(), HasSubstr("nobody"));
  }));
}

TEST_F(HostTest, NothingOpensWithoutAStateFolderOrInOneThatOthersWrite) {
  HostOptions nameless = options();
  nameless.state_dir.clear();
  Status opened = with_host(nameless, [](Host&) -> Task<void> { co_return; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::kInvalidArgument);

  std::filesystem::create_directory(folder / "state");
  ASSERT_EQ(::chmod((folder / "state").c_str(), 0777), 0);
  opened = with_host(options(), [](Host&) -> Task<void> { co_return; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::kRefused);
  EXPECT_FALSE(std::filesystem::exists(folder / "state/berth.db"));
}

}  // namespace
}  // namespace berth
